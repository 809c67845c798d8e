"""PPO2: proximal policy optimisation on many levels at once."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
