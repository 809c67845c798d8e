"""Chunks that can only be passed by going left first."""

from random import Random

from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, scaled
from cartridge.levels.terrain import Terrain

LEAP, WET_LEAP = 6, 10
"""Rows that no jump climbs, in air and in water."""
GATE, SHELF, TOWER = 4, 7, 12
"""Rows of a gate, under a shelf, of a tower."""


def switch_cave(t: Terrain, rng: Random, hard: float) -> None:
    """A gate below a ledge; its switch is behind the hero, in a cave under the ledge."""
    _cave(t, rng, hard, thrown=False)


def throw_cave(t: Terrain, rng: Random, hard: float) -> None:
    """A switch cave with a spring at the gate that throws the hero to the switch."""
    _cave(t, rng, hard, thrown=True)


def _cave(t: Terrain, rng: Random, hard: float, *, thrown: bool) -> None:
    t.ground(about(rng, 6))
    x, reach, depth = t.x, scaled(3, 5, hard), 5
    t.ground(reach)
    t.box(Cell.EMPTY, x, t.floor + 2, width=reach, height=depth - 2)
    t.step(-depth)
    t.spawn(SpawnKind.SWITCH, x + 1, t.floor, t.gates)
    t.ground(7)
    if thrown:
        t.spawn(SpawnKind.SPRING_BACK, t.x - 2, t.floor, 1)
    leap = WET_LEAP if t.wet() else LEAP
    t.gate(height=GATE, over=leap + depth - GATE + 2)
    t.ground(about(rng, 5))
    t.step(3)
    t.ground(about(rng, 4))
    t.step(2)
    t.ground(about(rng, 4))


def stairs_left(t: Terrain, rng: Random, *, above: bool = False) -> int:
    """Level ground with platforms over it that lead up to the left; above: then right again.

    Returns the first column of the obstacle that they cross."""
    t.ground(about(rng, 16))
    x = t.x
    t.box(Cell.PLATFORM, x - 6, t.floor - 4, width=4)
    t.box(Cell.PLATFORM, x - 11, t.floor - SHELF, width=4)
    if above:
        t.box(Cell.PLATFORM, x - 6, t.floor - TOWER + 1, width=4)
    return x


def tower(t: Terrain, rng: Random) -> None:
    """A tower that no jump climbs."""
    x = t.x
    t.ground(2)
    t.box(Cell.BLOCK, x, t.floor - TOWER, width=2, height=TOWER)
    t.ground(about(rng, 6))


def switch_shelf(t: Terrain, rng: Random, hard: float) -> None:
    """A gate; its switch is on a shelf to the left, above the hero's way."""
    x = stairs_left(t, rng)
    t.spawn(SpawnKind.SWITCH, x - 10, t.floor - SHELF, t.gates)
    t.gate(height=GATE, over=9)
    t.ground(about(rng, 6))


def zigzag(t: Terrain, rng: Random, hard: float) -> None:
    """A tower; the stairs over it begin at its foot and lead left, then right."""
    stairs_left(t, rng, above=True)
    tower(t, rng)


def spring_shelf(t: Terrain, rng: Random, hard: float) -> None:
    """A tower; the spring that throws the hero over it is on a shelf to the left."""
    x = stairs_left(t, rng)
    t.spawn(SpawnKind.SPRING_UP, x - 10, t.floor - SHELF, 0)
    tower(t, rng)


def spring_cave(t: Terrain, rng: Random, hard: float) -> None:
    """A wall below a ledge; the spring to get out is behind the hero, at the cave's mouth.

    The ledge above it has a hole through which the spring throws him."""
    t.ground(about(rng, 6))
    x, depth = t.x, 5
    t.ground(9)
    t.box(Cell.EMPTY, x, t.floor + 2, width=9, height=depth - 2)
    t.box(Cell.EMPTY, x + 1, t.floor, width=3, height=2)
    t.box(Cell.PLATFORM, x + 1, t.floor, width=3)
    t.step(-depth)
    t.spawn(SpawnKind.SPRING_UP, x + 2, t.floor, 1)
    t.ground(6)
    t.step(depth + 7)
    t.ground(about(rng, 7))
