"""What games, agents and judges say to each other."""
