"""Chunks that need speed, from a dash, a roll, a slope, a pad or a spring."""

from random import Random

from cartridge.levels.cells import Cell, SpawnKind
from cartridge.levels.chunks.sizes import about, scaled
from cartridge.levels.terrain import Terrain


def loop(t: Terrain, rng: Random, hard: float) -> None:
    """A loop after level ground: it needs more speed than running gives, so dash."""
    t.ground(about(rng, 15))
    t.spawn(SpawnKind.LOOP, t.x, t.floor)
    t.ground(about(rng, 10))


def loop_slope(t: Terrain, rng: Random, hard: float) -> None:
    """A loop at the foot of a slope: roll down."""
    t.ground(about(rng, 8))
    t.down45(t.room_down(5))
    t.ground(about(rng, 6))
    t.spawn(SpawnKind.LOOP, t.x, t.floor)
    t.ground(about(rng, 10))


def loop_booster(t: Terrain, rng: Random, hard: float) -> None:
    """A loop behind a pad that gives the speed."""
    t.ground(about(rng, 7))
    t.spawn(SpawnKind.BOOSTER, t.x, t.floor)
    t.ground(about(rng, 7))
    t.spawn(SpawnKind.LOOP, t.x, t.floor)
    t.ground(about(rng, 10))


def loop_spring(t: Terrain, rng: Random, hard: float) -> None:
    """A loop behind a spring that gives the speed."""
    t.ground(about(rng, 7))
    t.spawn(SpawnKind.SPRING_FORWARD, t.x, t.floor, 1)
    t.ground(about(rng, 7))
    t.spawn(SpawnKind.LOOP, t.x, t.floor)
    t.ground(about(rng, 10))


def halfpipe(t: Terrain, rng: Random, hard: float) -> None:
    """A deep, narrow half-pipe: a hero who stops at its foot has to dash."""
    rows = t.room_down(scaled(6, 9, hard))
    t.ground(about(rng, 6))
    t.down45(rows)
    t.ground(3)
    t.up45(rows)
    t.ground(about(rng, 5))


def steep_climb(t: Terrain, rng: Random, hard: float) -> None:
    """A wall, then at once a long steep climb: there is no room for a run-up, so dash."""
    t.ground(about(rng, 7))
    x = t.x
    t.ground(5)
    t.box(Cell.BLOCK, x, t.floor - 3, width=1, height=3)
    rows = 11
    t.up45(rows)
    t.ground(about(rng, 4))
    t.step(-rows)
    t.ground(about(rng, 6))


def breakable_wall(t: Terrain, rng: Random, hard: float) -> None:
    """A wall that only a roll breaks."""
    t.ground(about(rng, 15))
    x = t.x
    t.ground(1)
    t.spawn(SpawnKind.BREAKABLE, x, t.floor, 4)
    t.box(Cell.BLOCK, x, t.floor - 13, height=9)
    t.ground(about(rng, 6))


def breakable_tunnel(t: Terrain, rng: Random, hard: float) -> None:
    """A tunnel, closed by walls that only a roll breaks."""
    t.ground(about(rng, 12))
    x, count = t.x, scaled(1, 2, hard)
    t.ground(4 + 8 * count)
    t.box(Cell.GROUND, x, t.floor - 12, width=4 + 8 * count, height=9)
    for i in range(count):
        t.spawn(SpawnKind.BREAKABLE, x + 3 + 8 * i, t.floor, 3)
    t.ground(about(rng, 6))
