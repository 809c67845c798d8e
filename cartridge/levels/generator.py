"""Strings chunks together to acts. An act is a pure function of (zone, number, seed)."""

from random import Random

from cartridge.levels import chunks
from cartridge.levels.cells import CELL, HEIGHT, Act, Cell, SpawnKind
from cartridge.levels.terrain import HIGHEST_FLOOR, LOWEST_FLOOR, Terrain
from cartridge.levels.zones import ZONES, Zone

SEED = 1
START_COLUMN = 5
RUN_OUT = 22
"""Columns of ground behind the end."""
ROOF_REACH = 9
"""Columns to each side that a roof keeps clear of."""
REST = (4, 9)
"""Columns of ground between two chunks: short at the end of an act, long at its beginning."""


def act_length(number: int) -> int:
    """Columns of an act: the later, the longer."""
    return min(610, 400 + 55 * (number - 1))


def make_act(zone_index: int, number: int, seed: int = SEED) -> Act:
    """Build one act. Raises IndexError for an unknown zone."""
    zone = ZONES[zone_index]
    rng = Random(f"{zone.name}.{number}.{seed}")
    floor = rng.randint(18, 24)
    terrain = Terrain(floor=floor)
    log: list[tuple[str, int]] = []
    length = act_length(number)
    terrain.ground(START_COLUMN + 14)
    while terrain.x < length - RUN_OUT - 10:
        done = terrain.x / length
        name = _pick(zone, rng, done=done, terrain=terrain, before=log, number=number)
        log.append((name, terrain.x))
        _chunk(name)(terrain, rng, _hardness(zone, number, done))
        terrain.ground(round(REST[1] + (REST[0] - REST[1]) * done))
    end = terrain.x + 6
    terrain.ground(RUN_OUT + 6)
    terrain.spawn(SpawnKind.END_POST, end, terrain.floor)
    if zone.roof:
        _cover(terrain, rng, zone.roof)
    return Act(
        zone=zone_index,
        number=number,
        columns=tuple(tuple(column) for column in terrain.columns),
        spawns=tuple(sorted(terrain.spawns)),
        start=(START_COLUMN * CELL, floor * CELL),
        end_x=end * CELL + CELL // 2,
        chunks=tuple(log),
    )


def all_acts() -> list[Act]:
    """Every act of the cartridge, in order."""
    return [make_act(z, n) for z, zone in enumerate(ZONES) for n in range(1, zone.acts + 1)]


def _chunk(name: str) -> chunks.Chunk:
    chunk: chunks.Chunk = getattr(chunks, name)
    return chunk


def _cover(terrain: Terrain, rng: Random, clearance: int) -> None:
    """Hang a roof of rock over the act, at least clearance rows above all that is near."""
    tops = [next((r for r, c in enumerate(col) if c), HEIGHT) for col in terrain.columns]
    drop = 0
    for column, cells in enumerate(terrain.columns):
        near = tops[max(0, column - ROOF_REACH) : column + ROOF_REACH + 1]
        drop = max(0, min(2, drop + rng.choice((-1, 0, 0, 1))))
        for row in range(max(1, min(near) - clearance - drop)):
            cells[row] = Cell.GROUND


def _hardness(zone: Zone, number: int, done: float) -> float:
    """How hard a chunk is, 0..1: rises along the act, with its number and with the zone."""
    return min(1.0, zone.hard + 0.08 * (number - 1) + 0.45 * done)


def _pick(
    zone: Zone,
    rng: Random,
    *,
    done: float,
    terrain: Terrain,
    before: list[tuple[str, int]],
    number: int,
) -> str:
    """The next chunk: the zone's opening, then by weight, never the last two again."""
    if len(before) < len(zone.opening):
        options = zone.opening[len(before)]
        return options[(number - 1) % len(options)]
    recent = {name for name, _ in before[-2:]}
    late = done > 0.35
    weights = {
        name: weight
        for name, weight in {**zone.easy, **(zone.late if late else {})}.items()
        if name not in recent and _fits(name, terrain.floor)
    }
    return rng.choices(list(weights), weights=list(weights.values()))[0]


def _fits(name: str, floor: int) -> bool:
    """Whether there is room above or below for a chunk that needs it."""
    up = {"ascent": 4, "stairs_up": 6, "spring_wall": 7, "hill22": 3, "hill45": 3, "tunnel": 1}
    down = {"descent": 4, "valley22": 3, "valley45": 3, "stairs_down": 4, "trench": 4}
    return floor - up.get(name, 0) >= HIGHEST_FLOOR and floor + down.get(name, 0) <= LOWEST_FLOOR
