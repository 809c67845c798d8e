"""Constants of BrambleDash, the free game of this project.

The game itself, its levels and the tools that make them are in `cartridge`.
"""

import csv
from functools import cache
from pathlib import Path

GAME = "BrambleDash-Genesis-v0"
REFERENCES = Path(__file__).parent / "data" / "references.csv"
"""Scores of the reference players on every act, from `python -m cartridge.levels references`."""
EXPERT = "cartridge.levels.expert:Expert"
"""The expert that names the best action on its acts, as MODULE:NAME; imported on demand."""


@cache
def reference_returns() -> dict[tuple[str, str], float]:
    """(GAME:STATE, reference player) -> its mean return there."""
    with REFERENCES.open(newline="", encoding="utf-8") as file:
        return {
            (f"{GAME}:{row['level']}", row["agent"]): float(row["mean_return"])
            for row in csv.DictReader(file)
        }
