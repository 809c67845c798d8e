"""How fast it is: scripts that measure, and what they measured."""

import experiment  # noqa: F401  (says what is missing before anything else is imported)
