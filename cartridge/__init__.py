"""BrambleDash, the free game of this project: source, acts and integration."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
