"""Shared by all chunks: their type, and sizes that depend on hardness."""

from collections.abc import Callable
from random import Random

from cartridge.levels.cells import SpawnKind
from cartridge.levels.terrain import Terrain

Chunk = Callable[[Terrain, Random, float], None]
"""Draws itself at the pen: (terrain, rng, hard), hard in 0..1. Starts and ends on ground."""


def about(rng: Random, columns: int) -> int:
    """A length near the given one, from two shorter to three longer."""
    return columns + rng.randint(-2, 3)


def way(t: Terrain, rng: Random, columns: int) -> None:
    """About `columns` columns of ground that rise or sink by a row here and there.

    The last three are level."""
    left = about(rng, columns)
    while left >= 6:
        level = rng.randint(1, left - 5)
        t.ground(level)
        if rng.random() < 0.5:
            t.up22(t.room_up(1))
        else:
            t.down22(t.room_down(1))
        left -= level + 2
    t.ground(max(3, left))


def ring_over(t: Terrain, rng: Random, first: int, width: int) -> None:
    """A ring in the air over a wide hole, to collect by a jump."""
    if width >= 6:
        t.spawn(SpawnKind.RING, first + rng.randrange(1, width - 1), t.floor - rng.randint(2, 4))


def scaled(low: float, high: float, hard: float) -> int:
    """A size between low (easy) and high (hard)."""
    return round(low + (high - low) * hard)
