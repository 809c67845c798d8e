"""Chunks of land: nothing that kills, much that slows."""

from random import Random

from cartridge.levels import physics
from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import scaled
from cartridge.levels.terrain import Terrain


def flat(t: Terrain, rng: Random, hard: float) -> None:
    """Level ground to catch breath and speed on."""
    t.ground(rng.randint(6, 12))


def rings(t: Terrain, rng: Random, hard: float) -> None:
    """Three rings in a row."""
    x = t.x + 3
    t.ground(11)
    for i in range(3):
        t.spawn(SpawnKind.RING, x + 2 * i, t.floor - 1)


def islands(t: Terrain, rng: Random, hard: float) -> None:
    """Floating platforms with a ring on the highest: a detour that nobody has to take."""
    x = t.x + 2
    t.ground(19)
    for i, rise in enumerate((4, 7, 4)):
        t.box(Cell.PLATFORM, x + 5 * i, t.floor - rise, width=5)
    t.spawn(SpawnKind.RING, x + 7, t.floor - 8)


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
    """A steep hill: speed, a jump or a spin dash takes it."""
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
    """The land rises for good."""
    t.up22(t.room_up(rng.randint(3, 6)))
    t.ground(4)


def descent(t: Terrain, rng: Random, hard: float) -> None:
    """The land sinks for good; a place to roll."""
    rows = t.room_down(rng.randint(3, 6))
    if rng.random() < 0.5:
        t.down22(rows)
    else:
        t.down45(rows)
    t.ground(4)


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
    t.ground(5)
    x = t.x
    width = rng.randint(1, 2)
    t.ground(width + 5)
    t.box(Cell.BLOCK, x, t.floor - height, width=width, height=height)


def trench(t: Terrain, rng: Random, hard: float) -> None:
    """A ditch that one falls into and has to jump out of."""
    depth = t.room_down(scaled(2, 4, hard))
    t.ground(3)
    t.step(-depth)
    t.ground(rng.randint(5, 8))
    t.step(depth)
    t.ground(4)
