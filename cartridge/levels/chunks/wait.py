"""Chunks where the hero has to wait for the right moment."""

from random import Random

from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, ring_over, scaled, way
from cartridge.levels.terrain import Terrain


def piston_hall(t: Terrain, rng: Random, hard: float) -> None:
    """Pistons under a roof too low to jump."""
    t.ground(about(rng, 7))
    x, count = t.x, scaled(2, 4, hard)
    t.ground(6 * count + 1)
    t.box(Cell.GROUND, x, t.floor - 7, width=6 * count + 1, height=4)
    for i in range(count):
        t.spawn(SpawnKind.PISTON, x + 3 + 6 * i, t.floor, 15, rng.randrange(256), 3)
    t.ground(about(rng, 6))


def pistons(t: Terrain, rng: Random, hard: float) -> None:
    """Pistons under the open sky: wait, or jump over."""
    way(t, rng, 7)
    for _ in range(scaled(1, 3, hard)):
        t.spawn(SpawnKind.PISTON, t.x, t.floor, 14, rng.randrange(256), scaled(2, 3, hard))
        t.ground(about(rng, 7))


def ferry(t: Terrain, rng: Random, hard: float) -> None:
    """A hole too wide to jump, and the platform that crosses it."""
    t.ground(about(rng, 9))
    first, width = t.x, 22
    t.gap(width)
    t.spawn(SpawnKind.PLATFORM_X, t.x - width / 2 - 0.5, t.floor, 16, 34, rng.randrange(256))
    ring_over(t, rng, first, width // 2)
    ring_over(t, rng, first + width // 2, width // 2)
    t.ground(about(rng, 7))


def stepping_ferries(t: Terrain, rng: Random, hard: float) -> None:
    """A hole with platforms that go up and down."""
    way(t, rng, 8)
    for _ in range(scaled(2, 3, hard)):
        t.gap(rng.randint(1, 2))
        t.gap(3)
        swing = (4, scaled(20, 15, hard), rng.randrange(256))
        t.spawn(SpawnKind.PLATFORM_Y, t.x - 2, t.floor - 1, *swing)
    t.gap(2)
    t.ground(about(rng, 6))


def lift(t: Terrain, rng: Random, hard: float) -> None:
    """A tower, and the platform that rises beside it."""
    t.ground(about(rng, 15))
    x = t.x
    t.spawn(SpawnKind.PLATFORM_Y, x - 7, t.floor - 6, 10, 30, rng.randrange(256))
    t.ground(2)
    t.box(Cell.BLOCK, x, t.floor - 10, width=2, height=10)
    t.ground(about(rng, 6))
