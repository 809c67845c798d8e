"""Rainbow: deep Q-learning with six improvements, pretrained on levels that take turns."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
