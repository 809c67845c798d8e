"""Chunks with springs and boosters."""

from random import Random

from cartridge.levels import physics
from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, ring_over, scaled, way
from cartridge.levels.terrain import Terrain


def spring_wall(t: Terrain, rng: Random, hard: float) -> None:
    """A cliff too high to jump, and a spring to get up."""
    rise = t.room_up(scaled(7, 11, hard))
    strength = 1 if rise > physics.spring_cells(0) else 0
    t.ground(about(rng, 8))
    t.spawn(SpawnKind.SPRING_UP, t.x - 3, t.floor, strength)
    t.step(min(rise, physics.spring_cells(strength)))
    t.ground(about(rng, 7))


def spring_pit(t: Terrain, rng: Random, hard: float) -> None:
    """A spring before a hole that is wider than a jump from a standstill."""
    way(t, rng, 9)
    t.spawn(SpawnKind.SPRING_UP, t.x - 2, t.floor, 0)
    width = scaled(6, 10, hard)
    ring_over(t, rng, t.x, width)
    t.gap(width)
    way(t, rng, 7)


def spring_road(t: Terrain, rng: Random, hard: float) -> None:
    """A forward spring, and a ledge to fly off."""
    t.ground(about(rng, 7))
    t.spawn(SpawnKind.SPRING_FORWARD, t.x - 4, t.floor, scaled(0, 2, hard))
    drop = t.room_down(rng.randint(2, 4))
    t.ground(rng.randint(3, 6))
    width = scaled(3, 7, hard)
    ring_over(t, rng, t.x, width)
    t.gap(width)
    t.step(-drop)
    way(t, rng, 8)


def bounce_wall(t: Terrain, rng: Random, hard: float) -> None:
    """A spring that throws a hero who runs at the wall back: jump over both."""
    t.ground(about(rng, 9))
    x = t.x
    t.ground(about(rng, 8))
    t.spawn(SpawnKind.SPRING_BACK, x, t.floor, 0)
    t.box(Cell.BLOCK, x + 2, t.floor - 2, width=2, height=2)


def booster_pit(t: Terrain, rng: Random, hard: float) -> None:
    """A pad that gives speed, and a wide hole after it."""
    t.ground(about(rng, 6))
    t.spawn(SpawnKind.BOOSTER, t.x, t.floor)
    t.ground(rng.randint(7, 10))
    width = scaled(8, 11, hard)
    ring_over(t, rng, t.x, width)
    t.gap(width)
    way(t, rng, 10)


def booster_hill(t: Terrain, rng: Random, hard: float) -> None:
    """A pad before a hill that throws the hero far."""
    t.ground(about(rng, 5))
    t.spawn(SpawnKind.BOOSTER, t.x, t.floor)
    t.ground(about(rng, 6))
    rows = t.room_up(scaled(2, 4, hard))
    t.up22(rows)
    t.ground(1)
    t.step(-rows)
    way(t, rng, 14)


def two_roads(t: Terrain, rng: Random, hard: float) -> None:
    """A fast road above, with rings and a pad, and a slow one below, with walls and enemies."""
    way(t, rng, 8)
    x = t.x
    t.ground(about(rng, 35))
    t.box(Cell.PLATFORM, x, t.floor - 4, width=4)
    t.box(Cell.PLATFORM, x + 6, t.floor - 8, width=24)
    ring = x + 15 + rng.randrange(9)
    for i in range(2):
        t.spawn(SpawnKind.RING, ring + 3 * i, t.floor - 9)
    t.spawn(SpawnKind.BOOSTER, x + rng.randint(9, 12), t.floor - 8)
    for i in range(scaled(1, 3, hard)):
        wall = x + 8 + 9 * i + rng.randint(-1, 1)
        t.box(Cell.BLOCK, wall, t.floor - 3, width=1, height=3)
        t.spawn(SpawnKind.WALKER, wall + 4, t.floor, 2)


def wind_pit(t: Terrain, rng: Random, hard: float) -> None:
    """A hole in the wind: narrow if the wind is against the hero, wide if it is with him."""
    helps = rng.random() < 0.5
    x = t.x
    t.ground(about(rng, 9))
    width = scaled(7, 11, hard) if helps else scaled(4, 6, hard)
    ring_over(t, rng, t.x, width)
    t.gap(width)
    t.ground(about(rng, 7))
    t.spawn(SpawnKind.WIND, x + 3, t.floor, t.x - x - 5, 12 if helps else -scaled(6, 10, hard))


def wind_stairs(t: Terrain, rng: Random, hard: float) -> None:
    """Steps up against the wind."""
    x = t.x
    for _ in range(3):
        t.step(t.room_up(scaled(1, 2, hard)))
        t.ground(about(rng, 6))
    t.spawn(SpawnKind.WIND, x, t.floor, t.x - x, -scaled(5, 9, hard))
