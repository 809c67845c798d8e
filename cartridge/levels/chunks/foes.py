"""Chunks with enemies."""

from random import Random

from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import scaled
from cartridge.levels.terrain import Terrain


def walkers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that patrol: jump on them, or roll."""
    for _ in range(scaled(1, 3, hard)):
        t.ground(6)
        t.spawn(SpawnKind.WALKER, t.x, t.floor, 3)
        t.ground(6)
    t.ground(2)


def hoppers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that jump in place: roll under, or time it."""
    for _ in range(scaled(1, 2, hard)):
        t.ground(6)
        t.spawn(SpawnKind.HOPPER, t.x, t.floor)
        t.ground(6)


def tunnel(t: Terrain, rng: Random, hard: float) -> None:
    """A low tunnel with an enemy in it: no room to jump, so roll."""
    t.ground(6)
    x, length = t.x, scaled(8, 16, hard)
    t.ground(length)
    t.box(Cell.GROUND, x, t.floor - 7, width=length, height=4)
    for i in range(scaled(1, 2, hard)):
        t.spawn(SpawnKind.WALKER, x + length * (i + 1) // 3, t.floor, 2)
    t.ground(6)


def shooters(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that stand and shoot: jump over the shot, then onto them."""
    for _ in range(scaled(1, 2, hard)):
        t.ground(9)
        t.spawn(SpawnKind.SHOOTER, t.x, t.floor, scaled(16, 11, hard))
        t.ground(5)


def jumpers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that come and leap."""
    for _ in range(scaled(1, 2, hard)):
        t.ground(8)
        t.spawn(SpawnKind.JUMPER, t.x, t.floor, 4)
        t.ground(7)


def guarded_wall(t: Terrain, rng: Random, hard: float) -> None:
    """A wall with a shooter on it."""
    t.ground(8)
    height = scaled(2, 3, hard)
    x = t.x
    t.ground(4)
    t.box(Cell.BLOCK, x, t.floor - height, width=4, height=height)
    t.spawn(SpawnKind.SHOOTER, x + 2, t.floor - height, scaled(15, 11, hard))
    t.ground(6)
