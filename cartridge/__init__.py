"""BrambleDash, the free game of this project: source, acts and integration."""

import retro_agents  # noqa: F401  (checks Python and packages before other imports)
