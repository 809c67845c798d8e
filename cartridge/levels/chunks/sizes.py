"""What the chunks share: the type of a chunk, and how hardness becomes a size."""

from collections.abc import Callable
from random import Random

from cartridge.levels.terrain import Terrain

Chunk = Callable[[Terrain, Random, float], None]
"""Draws itself at the pen: (terrain, rng, hard), hard in 0..1. Starts and ends on ground."""


def scaled(low: float, high: float, hard: float) -> int:
    """A size between low (easy) and high (hard)."""
    return round(low + (high - low) * hard)
