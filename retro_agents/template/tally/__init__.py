"""Takes the action of the highest mean reward: the smallest agent that learns."""
