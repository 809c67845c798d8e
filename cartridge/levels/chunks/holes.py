"""Chunks with holes and spikes."""

from random import Random

from cartridge.levels import physics
from cartridge.levels.cells import CELL, Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, ring_over, scaled, way
from cartridge.levels.terrain import Terrain


def crack(t: Terrain, rng: Random, hard: float) -> None:
    """A narrow hole: a hero who runs flies over it, one who walks falls in."""
    way(t, rng, 8)
    t.gap(rng.randint(2, 3))
    t.step(-t.room_down(rng.randint(0, 1)))
    t.ground(about(rng, 5))


def pit(t: Terrain, rng: Random, hard: float) -> None:
    """A hole without a bottom."""
    width = min(about(rng, scaled(5, 8, hard)), physics.jump_cells(runway=10 * CELL))
    way(t, rng, 9)
    ring_over(t, rng, t.x, width)
    t.gap(width)
    t.step(rng.choice((t.room_up(1), 0, -t.room_down(1))))
    t.ground(about(rng, 5))


def ramp_pit(t: Terrain, rng: Random, hard: float) -> None:
    """A ramp that throws a runner over a hole."""
    t.ground(about(rng, 6))
    t.up22(t.room_up(rng.randint(1, 3)))
    t.ground(1)
    width = min(about(rng, scaled(4, 8, hard)), physics.jump_cells(runway=10 * CELL))
    ring_over(t, rng, t.x, width)
    t.gap(width)
    t.step(-t.room_down(rng.randint(1, 3)))
    t.ground(about(rng, 6))


def platforms(t: Terrain, rng: Random, hard: float) -> None:
    """Wide holes, each with a floating platform, and ground to land on between them."""
    way(t, rng, 4)
    for _ in range(rng.randint(2, 3)):
        first, width = t.x + scaled(2, 4, hard), scaled(5, 3, hard) + rng.randint(-1, 1)
        hole = first + width + scaled(2, 3, hard) - t.x
        ring_over(t, rng, t.x, hole)
        t.gap(hole)
        t.box(Cell.PLATFORM, first, t.floor - rng.randint(-1, 1), width=width)
        t.step(rng.choice((t.room_up(1), 0, -t.room_down(1))))
        t.ground(rng.randint(4, 6))


def pillars(t: Terrain, rng: Random, hard: float) -> None:
    """Pillars in a hole."""
    way(t, rng, 8)
    home = t.floor
    for _ in range(rng.randint(2, 3)):
        t.gap(scaled(2, 5, hard))
        t.floor = home
        t.step(rng.randint(0, t.room_up(2)))
        t.ground(scaled(6, 4, hard) + rng.randint(-1, 1))
    t.floor = home
    t.gap(scaled(2, 4, hard))
    way(t, rng, 6)


def spikes(t: Terrain, rng: Random, hard: float) -> None:
    """A bed of spikes, sunk into the ground, to jump over."""
    length = about(rng, scaled(4, 6, hard))
    way(t, rng, 9)
    t.step(-1)
    x = t.x
    t.ground(length)
    t.box(Cell.SPIKE, x, t.floor - 1, width=length)
    t.step(1)
    t.ground(about(rng, 5))


def spike_trench(t: Terrain, rng: Random, hard: float) -> None:
    """A ditch whose floor is spikes."""
    length = about(rng, scaled(4, 6, hard))
    way(t, rng, 9)
    t.step(-2)
    x = t.x
    t.ground(length)
    t.box(Cell.SPIKE, x, t.floor - 1, width=length)
    t.step(2)
    t.ground(about(rng, 6))


def high_road(t: Terrain, rng: Random, hard: float) -> None:
    """Spikes below, platforms above."""
    length = about(rng, scaled(10, 16, hard))
    way(t, rng, 8)
    t.step(-1)
    x = t.x
    t.ground(length)
    t.box(Cell.SPIKE, x, t.floor - 1, width=length)
    for i in range(rng.randint(0, 1), length - 4, 6):
        t.box(Cell.PLATFORM, x + i, t.floor - 4, width=rng.randint(4, 5))
    t.step(1)
    t.ground(6)


def crumble_bridge(t: Terrain, rng: Random, hard: float) -> None:
    """A hole with platforms that fall soon after they are stepped on."""
    way(t, rng, 8)
    for _ in range(scaled(2, 4, hard)):
        t.gap(rng.randint(1, 2))
        ring_over(t, rng, t.x - 3, 6)
        t.gap(3)
        t.spawn(SpawnKind.PLATFORM_CRUMBLE, t.x - 2, t.floor, about(rng, scaled(12, 9, hard)))
    t.gap(2)
    t.ground(6)
