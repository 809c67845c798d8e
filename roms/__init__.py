"""Importing a user's own games: `scripts/import-roms DIR…` (python -m roms)."""

import experiment  # noqa: F401  (says what is missing before anything else is imported)
