"""The smallest agent that keeps to the protocol: it takes the action of the highest mean reward."""
