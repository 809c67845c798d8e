"""The interfaces between games, agents and judges."""
