"""JERK: search that explores, remembers what worked, replays it and mutates it."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
