"""The contest: play a level under its rules, and score what came of it."""

import experiment  # noqa: F401  (says what is missing before anything else is imported)
