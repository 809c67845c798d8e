"""BrambleDash, the free game that everything here is trained on: what is known of it here.

The game itself, its levels and the tools that make them are in `cartridge`.
"""

from pathlib import Path

GAME = "BrambleDash-Genesis-v0"
REFERENCES = Path(__file__).parent / "data" / "references.csv"
"""What reference players score on every act; `python -m cartridge.levels references` writes it."""
EXPERT = "cartridge.levels.expert:Expert"
"""Who says what to do on its acts, as MODULE:NAME; imported when it is asked for."""
