"""How fast it is: scripts that measure, and what they measured."""
