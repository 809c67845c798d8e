"""Chunks: the pieces that acts are strung together from. Each draws itself at the pen.

A chunk takes (terrain, rng, hard): hard in 0..1 sets its size. It starts and ends on ground, so
any may follow any; it leaves the pen where the next may begin."""

from collections.abc import Callable
from random import Random

from cartridge.levels import physics
from cartridge.levels.cells import CELL, Cell, SpawnKind
from cartridge.levels.terrain import Terrain

Chunk = Callable[[Terrain, Random, float], None]


def scaled(low: float, high: float, hard: float) -> int:
    """A size between low (easy) and high (hard)."""
    return round(low + (high - low) * hard)


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


def crack(t: Terrain, rng: Random, hard: float) -> None:
    """A narrow hole: a runner flies over it, a stroller falls in."""
    t.ground(8)
    t.gap(3)
    t.ground(5)


def pit(t: Terrain, rng: Random, hard: float) -> None:
    """A hole without a bottom."""
    width = min(scaled(5, 9, hard), physics.jump_cells(runway=10 * CELL))
    t.ground(9)
    t.gap(width)
    t.ground(5)


def ramp_pit(t: Terrain, rng: Random, hard: float) -> None:
    """A ramp that throws a runner over a hole."""
    t.ground(6)
    t.up22(t.room_up(2))
    t.gap(min(scaled(4, 9, hard), physics.jump_cells(runway=10 * CELL)))
    t.step(-t.room_down(2))
    t.ground(6)


def platforms(t: Terrain, rng: Random, hard: float) -> None:
    """A wide hole with floating platforms."""
    t.ground(8)
    for _ in range(rng.randint(2, 3)):
        t.gap(scaled(2, 4, hard))
        x, width = t.x, scaled(6, 4, hard)
        t.gap(width)
        t.box(Cell.PLATFORM, x, t.floor - rng.randint(-1, 1), width=width)
    t.gap(scaled(2, 4, hard))
    t.ground(6)


def pillars(t: Terrain, rng: Random, hard: float) -> None:
    """Pillars in a hole."""
    home = t.floor
    t.ground(8)
    for _ in range(rng.randint(2, 3)):
        t.gap(scaled(2, 5, hard))
        t.floor = home
        t.step(rng.randint(0, t.room_up(2)))
        t.ground(scaled(6, 4, hard))
    t.floor = home
    t.gap(scaled(2, 4, hard))
    t.ground(6)


def spikes(t: Terrain, rng: Random, hard: float) -> None:
    """A bed of spikes, sunk into the ground: to jump over."""
    length = scaled(3, 7, hard)
    t.ground(9)
    t.step(-1)
    x = t.x
    t.ground(length)
    t.box(Cell.SPIKE, x, t.floor - 1, width=length)
    t.step(1)
    t.ground(5)


def spike_trench(t: Terrain, rng: Random, hard: float) -> None:
    """A ditch whose floor is spikes."""
    length = scaled(3, 7, hard)
    t.ground(9)
    t.step(-2)
    x = t.x
    t.ground(length)
    t.box(Cell.SPIKE, x, t.floor - 1, width=length)
    t.step(2)
    t.ground(6)


def walkers(t: Terrain, rng: Random, hard: float) -> None:
    """Enemies that patrol: jump on them, or roll."""
    for _ in range(scaled(1, 3, hard)):
        t.ground(6)
        t.spawn(SpawnKind.WALKER, t.x, t.floor, arg=3)
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
        t.spawn(SpawnKind.WALKER, x + length * (i + 1) // 3, t.floor, arg=2)
    t.ground(6)


def spring_wall(t: Terrain, rng: Random, hard: float) -> None:
    """A cliff too high to jump, and the spring that helps."""
    rise = t.room_up(scaled(7, 11, hard))
    strength = 1 if rise > physics.spring_cells(0) else 0
    t.ground(7)
    t.spawn(SpawnKind.SPRING_UP, t.x - 3, t.floor, arg=strength)
    t.step(min(rise, physics.spring_cells(strength)))
    t.ground(7)


def spring_pit(t: Terrain, rng: Random, hard: float) -> None:
    """A spring before a hole that is wider than a jump from a standstill."""
    t.ground(9)
    t.spawn(SpawnKind.SPRING_UP, t.x - 2, t.floor, arg=0)
    t.gap(scaled(6, 10, hard))
    t.ground(7)


def high_road(t: Terrain, rng: Random, hard: float) -> None:
    """Spikes below, platforms above."""
    length = scaled(10, 18, hard)
    t.ground(8)
    t.step(-1)
    x = t.x
    t.ground(length)
    t.box(Cell.SPIKE, x, t.floor - 1, width=length)
    for i in range(1, length - 3, 6):
        t.box(Cell.PLATFORM, x + i, t.floor - 4, width=4)
    t.step(1)
    t.ground(6)
