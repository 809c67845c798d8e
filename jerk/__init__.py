"""JERK: search that explores, remembers what worked, replays it and mutates it."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
