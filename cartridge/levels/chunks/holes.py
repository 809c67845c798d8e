"""Chunks with holes and spikes."""

from random import Random

from cartridge.levels import physics
from cartridge.levels.cells import CELL, Cell, SpawnKind
from cartridge.levels.chunks.sizes import scaled
from cartridge.levels.terrain import Terrain


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


def crumble_bridge(t: Terrain, rng: Random, hard: float) -> None:
    """A hole with platforms that fall soon after they are stepped on."""
    t.ground(8)
    for _ in range(scaled(2, 4, hard)):
        t.gap(2)
        t.gap(3)
        t.spawn(SpawnKind.PLATFORM_CRUMBLE, t.x - 2, t.floor, scaled(12, 8, hard))
    t.gap(2)
    t.ground(6)
