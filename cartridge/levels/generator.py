"""Builds acts from chunks. An act is a pure function of (zone, number, seed, layout)."""

from random import Random

from cartridge.levels.cells import CELL, DRY, HEIGHT, Act, Cell, SpawnKind
from cartridge.levels.chunks import PIECES
from cartridge.levels.chunks.sizes import way
from cartridge.levels.terrain import HIGHEST_FLOOR, LOWEST_FLOOR, Terrain
from cartridge.levels.zones import LAND, NO_WATER, PLACES, RESEEDED, ZONES, Zone

SEED = 1
START_COLUMN = 5
RUN_OUT = 22
"""Columns of ground after the end."""
ROOF_REACH = 9
"""Columns to each side that a roof leaves clear."""
REST = (4, 9)
"""Approximate columns of ground between two chunks: fewer towards the end of an act."""
SPECIALS = (2, 2, 3, 2, 3)
"""Number of special obstacles, by the act's number; the last entry is for all later acts."""
LATE = 0.35
"""The share of an act from which on all chunks may occur."""
HARMLESS = {"flat", "rings", "islands", "hill22", "valley22", "ascent", "descent"}
Log = list[tuple[str, int]]


def act_length(number: int) -> int:
    """Maximum number of columns of an act; it grows with the act's number."""
    return min(565, 420 + 45 * (number - 1))


def make_act(zone_index: int, number: int, seed: int = SEED, *, layout: int | None = None) -> Act:
    """Build one act. Raises IndexError for an unknown zone.

    layout: number of the seed's layout; None: 0, or for an act of SEED that of RESEEDED."""
    zone = ZONES[zone_index]
    if layout is None:
        layout = RESEEDED.get(f"{zone.name}.Act{number}", 0) if seed == SEED else 0
    rng = Random(f"{zone.name}.{number}.{seed}.{layout}")
    water_row = zone.water_row + rng.randint(-2, 2) if zone.water_row != NO_WATER else HEIGHT
    floor = rng.randint(18, 23)
    terrain = Terrain(floor=floor, water_row=water_row)
    log = _string_chunks(terrain, zone, rng, number=number)
    way(terrain, rng, 4)
    end = terrain.x + 2
    terrain.ground(5)
    terrain.spawn(SpawnKind.END_POST, end, terrain.floor)
    way(terrain, rng, RUN_OUT)
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
        water_y=water_row * CELL if water_row < HEIGHT else DRY,
        seed=seed,
        layout=layout,
    )


def all_acts(seed: int = SEED) -> list[Act]:
    """Every act of the cartridge, in order."""
    return [make_act(zone, number, seed) for zone, number in PLACES]


def _string_chunks(terrain: Terrain, zone: Zone, rng: Random, *, number: int) -> Log:
    """Draw everything between start and end. Returns the chunks' names and first columns."""
    log: Log = []
    length = act_length(number) - rng.randrange(30)
    opening = [rng.choice(entry.split()) for entry in zone.opening]
    rng.shuffle(opening)
    specials = _special_places(rng, SPECIALS[min(number, len(SPECIALS)) - 1])
    checkpoint = False
    terrain.ground(START_COLUMN + rng.randint(2, 5))
    way(terrain, rng, 6)
    while terrain.x < length - RUN_OUT - 10:
        done = terrain.x / length
        if specials and done > specials[0]:
            specials.pop(0)
            name = _pick_special(zone, rng, terrain=terrain, before=log)
            _make_room(terrain, rng, name=name, log=log)
        else:
            name = opening.pop() if opening else _pick(zone, rng, done, terrain, log)
        if not checkpoint and done > 0.5:
            checkpoint = True
            terrain.spawn(SpawnKind.CHECKPOINT, terrain.x - 1, terrain.floor)
        elif PIECES[name].kind != "none" or (name not in HARMLESS and rng.random() < 0.22):
            terrain.spawn(SpawnKind.RING, terrain.x - 2, terrain.floor - 1)
        log.append((name, terrain.x))
        PIECES[name].draw(terrain, rng, _hardness(zone, number, done))
        way(terrain, rng, round(REST[1] + (REST[0] - REST[1]) * done))
    return log


def _special_places(rng: Random, count: int) -> list[float]:
    """The shares of the act at which special obstacles occur: from the middle on."""
    step = 0.46 / count
    return [0.45 + step * (i + rng.uniform(0, 0.5)) for i in range(count)]


def _cover(terrain: Terrain, rng: Random, clearance: int) -> None:
    """Add a roof of rock over the act, at least clearance rows above everything near.

    Over a hole it is as high as before the hole."""
    tops: list[int] = []
    for cells in terrain.columns:
        tops.append(next((r for r, c in enumerate(cells) if c), tops[-1] if tops else HEIGHT))
    drop = 0
    for column, cells in enumerate(terrain.columns):
        near = tops[max(0, column - ROOF_REACH) : column + ROOF_REACH + 1]
        drop = max(0, min(2, drop + rng.choice((-1, 0, 0, 1))))
        for row in range(max(1, min(near) - clearance - drop)):
            cells[row] = Cell.GROUND


def _hardness(zone: Zone, number: int, done: float) -> float:
    """The hardness of a chunk, 0..1: it rises along the act, with its number and with the zone."""
    return min(1.0, zone.hard + 0.06 * (number - 1) + 0.4 * done)


def _pick(zone: Zone, rng: Random, done: float, terrain: Terrain, before: Log) -> str:
    """The next chunk, drawn by weight; never one of the last two."""
    recent = {name for name, _ in before[-2:]}
    weights = {
        name: weight
        for name, weight in (LAND | zone.easy | (zone.late if done > LATE else {})).items()
        if name not in recent and _fits(name, terrain) and not _too_wet(name, terrain)
    }
    return rng.choices(list(weights), weights=list(weights.values()))[0]


def _pick_special(zone: Zone, rng: Random, *, terrain: Terrain, before: Log) -> str:
    """A special obstacle; none occurs twice in an act while the zone has others."""
    used = {name for name, _ in before}
    options = {n: w for n, w in zone.special.items() if not _too_wet(n, terrain)}
    fresh = {n: w for n, w in options.items() if n not in used} or options
    return rng.choices(list(fresh), weights=list(fresh.values()))[0]


def _make_room(terrain: Terrain, rng: Random, *, name: str, log: Log) -> None:
    """Make the land rise or sink until a piece fits."""
    piece = PIECES[name]
    high, low = HIGHEST_FLOOR + piece.up, LOWEST_FLOOR - piece.down
    if terrain.floor < high:
        log.append(("descent", terrain.x))
        terrain.down22(high - terrain.floor)
        terrain.ground(8)
    elif terrain.floor > low:
        log.append(("ascent", terrain.x))
        terrain.up22(terrain.floor - low)
        terrain.ground(8)


def _fits(name: str, terrain: Terrain) -> bool:
    """Whether there is room above or below for a chunk that needs it."""
    piece, floor = PIECES[name], terrain.floor
    return floor - piece.up >= HIGHEST_FLOOR and floor + piece.down <= LOWEST_FLOOR


def _too_wet(name: str, terrain: Terrain) -> bool:
    """Whether a piece that must not be in water would be."""
    return PIECES[name].dry and terrain.wet()
