"""BrambleDash, the free game that everything here is trained on: source, acts and integration."""

import retro_agents  # noqa: F401  (says what is missing before anything else is imported)
