"""Importing a user's own games: `scripts/import-roms DIR…` (python -m roms)."""
