"""Chunks of land: nothing kills, but much slows the hero."""

from random import Random

from cartridge.levels import physics
from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, scaled, way
from cartridge.levels.terrain import Terrain


def flat(t: Terrain, rng: Random, hard: float) -> None:
    """Level ground to rest and to gain speed."""
    way(t, rng, rng.randint(6, 12))


def rings(t: Terrain, rng: Random, hard: float) -> None:
    """Three rings in a row."""
    x, apart, rise = t.x + 3, rng.randint(1, 3), rng.randint(0, 2)
    t.ground(5 + about(rng, 3 * apart))
    for i in range(3):
        t.spawn(SpawnKind.RING, x + apart * i, t.floor - 1 - rise * (i == 1))


def islands(t: Terrain, rng: Random, hard: float) -> None:
    """Floating platforms with a ring on the highest: an optional detour."""
    x, wide = t.x + rng.randint(1, 4), rng.randint(4, 6)
    rises = rng.choice(((4, 7, 4), (4, 7, 7), (3, 6, 3), (4, 8, 5)))
    for i, rise in enumerate(rises):
        t.ground(x + wide * (i + 1) - t.x)
        t.box(Cell.PLATFORM, x + wide * i, t.floor - rise, width=wide)
    t.spawn(SpawnKind.RING, x + wide + wide // 2, t.floor - rises[1] - 1)
    t.ground(rng.randint(1, 4))


def hill22(t: Terrain, rng: Random, hard: float) -> None:
    """A gentle hill."""
    rows = t.room_up(rng.randint(2, 5))
    t.up22(rows)
    t.ground(rng.randint(2, 6))
    t.down22(t.room_down(rows + rng.randint(-1, 1)))


def valley22(t: Terrain, rng: Random, hard: float) -> None:
    """A gentle valley."""
    rows = t.room_down(rng.randint(2, 5))
    t.down22(rows)
    t.ground(rng.randint(3, 7))
    t.up22(rows)


def hill45(t: Terrain, rng: Random, hard: float) -> None:
    """A steep hill: speed, a jump or a spin dash is needed."""
    rows = t.room_up(scaled(2, 5, hard))
    t.up45(rows)
    t.ground(rng.randint(2, 5))
    t.down45(rows)


def valley45(t: Terrain, rng: Random, hard: float) -> None:
    """A steep valley: rolling in gives the speed to leave it."""
    rows = t.room_down(scaled(2, 5, hard))
    t.down45(rows)
    t.ground(rng.randint(3, 7))
    t.up45(rows)


def ascent(t: Terrain, rng: Random, hard: float) -> None:
    """The land rises permanently."""
    t.up22(t.room_up(rng.randint(3, 6)))
    t.ground(about(rng, 4))


def descent(t: Terrain, rng: Random, hard: float) -> None:
    """The land sinks permanently; a place to roll."""
    rows = t.room_down(rng.randint(3, 6))
    if rng.random() < 0.5:
        t.down22(rows)
    else:
        t.down45(rows)
    t.ground(about(rng, 4))


def stairs_up(t: Terrain, rng: Random, hard: float) -> None:
    """Steps, each of which needs a jump."""
    rise = scaled(1, 3, hard)
    for _ in range(rng.randint(2, 3)):
        t.step(t.room_up(rise))
        t.ground(rng.randint(5, 7))


def stairs_down(t: Terrain, rng: Random, hard: float) -> None:
    """Steps down."""
    for _ in range(rng.randint(2, 3)):
        t.step(-t.room_down(rng.randint(1, 3)))
        t.ground(rng.randint(4, 6))


def wall(t: Terrain, rng: Random, hard: float) -> None:
    """A wall to jump over."""
    height = min(scaled(2, 4, hard), physics.wall_cells())
    way(t, rng, 5)
    x = t.x
    width = rng.randint(1, 3)
    t.ground(width + about(rng, 5))
    t.box(Cell.BLOCK, x, t.floor - height, width=width, height=height)


def trench(t: Terrain, rng: Random, hard: float) -> None:
    """A ditch into which the hero falls, and from which he must jump."""
    depth = t.room_down(scaled(2, 4, hard))
    t.ground(about(rng, 4))
    t.step(-depth)
    t.ground(rng.randint(5, 9))
    t.step(depth)
    t.ground(about(rng, 4))
