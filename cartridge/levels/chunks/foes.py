"""Chunks with enemies."""

from random import Random

from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, scaled, way
from cartridge.levels.terrain import Terrain


def walkers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that patrol: jump on them, or roll."""
    for _ in range(scaled(1, 3, hard)):
        t.ground(about(rng, 6))
        t.spawn(SpawnKind.WALKER, t.x, t.floor, 3)
        t.ground(about(rng, 6))
    t.ground(2)


def hoppers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that jump in place: roll under, or time it."""
    for _ in range(scaled(1, 2, hard)):
        way(t, rng, 6)
        t.spawn(SpawnKind.HOPPER, t.x, t.floor)
        t.ground(about(rng, 6))


def tunnel(t: Terrain, rng: Random, hard: float) -> None:
    """A low tunnel with an enemy in it: no room to jump, so roll."""
    way(t, rng, 6)
    x, length = t.x, about(rng, scaled(8, 14, hard))
    t.ground(length)
    t.box(Cell.GROUND, x, t.floor - 7, width=length, height=4)
    for i in range(scaled(1, 2, hard)):
        t.spawn(SpawnKind.WALKER, x + length * (i + 1) // 3, t.floor, 2)
    t.ground(about(rng, 6))


def shooters(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that stand and shoot: jump over the shot, then onto them."""
    for _ in range(scaled(1, 2, hard)):
        way(t, rng, 9)
        t.spawn(SpawnKind.SHOOTER, t.x, t.floor, scaled(16, 11, hard))
        t.ground(about(rng, 5))


def jumpers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that come and leap."""
    for _ in range(scaled(1, 2, hard)):
        t.ground(about(rng, 8))
        t.spawn(SpawnKind.JUMPER, t.x, t.floor, 4)
        t.ground(about(rng, 7))


def guarded_wall(t: Terrain, rng: Random, hard: float) -> None:
    """A wall with a shooter on it."""
    way(t, rng, 8)
    height, width = scaled(2, 3, hard), rng.randint(3, 5)
    x = t.x
    t.ground(width)
    t.box(Cell.BLOCK, x, t.floor - height, width=width, height=height)
    t.spawn(SpawnKind.SHOOTER, x + width // 2, t.floor - height, scaled(15, 11, hard))
    t.ground(about(rng, 6))
