"""Rainbow: deep Q-learning with six improvements, pretrained by level rotation."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
