"""Rainbow: deep Q-learning with six improvements, pretrained by level rotation."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
