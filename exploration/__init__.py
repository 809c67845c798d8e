"""Rewards of an agent's own making, for what it has not seen before.

All look at the states that steps reached; an episode's last step earns none.
"""
