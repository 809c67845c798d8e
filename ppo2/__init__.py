"""PPO2: proximal policy optimisation on many levels at once."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
