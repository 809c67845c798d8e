"""Chooses a metatile for every cell of an act: edges, slopes, seams and ornaments."""

from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import NamedTuple

from cartridge.levels.art.parts import LOOP_CELLS
from cartridge.levels.cells import CELL, HEIGHT, SLOPES, Act, Cell, SpawnKind, shape_of
from cartridge.levels.zones import ZONES

STONES, SIDES = ("light", "dark"), ("", "_l", "_r")
"""Kinds of stones in the ground; open sides of its metatiles."""
GROUND_CLASSES = (
    *((kind + side, Cell.GROUND) for kind in ("top", "fill") for side in (*SIDES, "_lr")),
    *((kind + side, Cell.GROUND) for kind in ("dim", "dusk", "deep", "ceil") for side in SIDES),
    ("up45", Cell.UP45),
    ("under_up45", Cell.GROUND),
    ("down45", Cell.DOWN45),
    ("under_down45", Cell.GROUND),
    ("up22_low", Cell.UP22_LOW),
    ("up22_high", Cell.UP22_HIGH),
    ("under_up22_low", Cell.GROUND),
    ("down22_high", Cell.DOWN22_HIGH),
    ("down22_low", Cell.DOWN22_LOW),
    ("under_down22_low", Cell.GROUND),
    *((f"stone_{kind}{side}", Cell.GROUND) for kind in STONES for side in SIDES),
)
"""Each has four copies, for even and odd columns and rows, so that a 32x32 pattern fits."""
DEPTHS = {3: "dim", 4: "dusk", 5: "deep"}
"""Least rows of ground above a cell -> its class; with fewer rows it is "fill". The ground darkens
gradually over two cells."""
STONE_SHARE, STONE_ROWS = 0.18, 5
"""Share of places with a stone, and the number of such places per column, from the top."""
FIRST_GROUND = 4
FIRST_PART = FIRST_GROUND + 4 * len(GROUND_CLASSES)
PARTS = (
    *((f"platform_{part}", Cell.PLATFORM) for part in "lmr"),
    ("spike", Cell.SPIKE),
    ("block_top", Cell.BLOCK),
    ("block", Cell.BLOCK),
    *((name, Cell.EMPTY) for name in ("water_l", "water_r", "water")),
    *((f"loop_{row}{column}", Cell.EMPTY) for row in range(7) for column in range(7)),
)
FIRST_DECOR = FIRST_PART + len(PARTS)
DECOR_SIZES = ((1, 1), (1, 1), (1, 1), (2, 1), (2, 2), (3, 4))
"""Columns and rows of the ornaments of a zone, in the order of art.decor."""

SPAWN_REACH = {
    SpawnKind.RING: -1,
    SpawnKind.WIND: -1,
    SpawnKind.WALKER: -1,
    SpawnKind.JUMPER: -1,
    SpawnKind.LOOP: 4,
    SpawnKind.END_POST: 2,
}
"""Columns to each side of an object that stay bare, 1 if not listed; -1: ornaments may be there."""

GROUND_ID = {name: FIRST_GROUND + 4 * i for i, (name, _) in enumerate(GROUND_CLASSES)}
PART_ID = {name: FIRST_PART + i for i, (name, _) in enumerate(PARTS)}
BEFORE_SPRITES = frozenset({PART_ID["water_l"], PART_ID["water_r"]})
"""Metatiles drawn over the sprites. The water's body is not one: it would hide the hero."""


class Layout(NamedTuple):
    """An ornament's first metatile, and its size in cells."""

    first: int
    width: int
    height: int


*_FIRSTS, METATILE_COUNT = accumulate((w * h for w, h in DECOR_SIZES), initial=FIRST_DECOR)
LAYOUTS = [Layout(first, *size) for first, size in zip(_FIRSTS, DECOR_SIZES, strict=True)]


def metatile_shapes() -> list[Cell]:
    """The collision shape of each of the 256 metatile numbers, the same in all zones."""
    shapes = [Cell.EMPTY] * 256
    for i, (_, cell) in enumerate(GROUND_CLASSES):
        for copy in range(4):
            shapes[FIRST_GROUND + 4 * i + copy] = shape_of(cell)
    for i, (_, cell) in enumerate(PARTS):
        shapes[FIRST_PART + i] = shape_of(cell)
    return shapes


def paint(act: Act) -> list[list[int]]:
    """The metatile number of every cell, [width][HEIGHT]."""
    columns = act.columns
    around = zip((columns[0], *columns), columns, (*columns[1:], columns[-1]), strict=False)
    painted = [list(_column(near, i % 2)) for i, near in enumerate(around)]
    _stones(act, painted)
    _ornament(act, painted)
    _loops(act, painted)
    _flood(act, painted)
    return painted


def _loops(act: Act, painted: list[list[int]]) -> None:
    """Draw each loop over its foot, in place."""
    first = PART_ID["loop_00"]
    for spawn in act.spawns:
        if spawn.kind is not SpawnKind.LOOP:
            continue
        left, top = spawn.x // CELL - LOOP_CELLS // 2, spawn.y // CELL - LOOP_CELLS
        for row in range(LOOP_CELLS):
            for column in range(LOOP_CELLS):
                painted[left + column][top + row] = first + LOOP_CELLS * row + column


def _flood(act: Act, painted: list[list[int]]) -> None:
    """Fill empty cells below the water's surface, in place. DRY is below every row."""
    surface = act.water_y // CELL
    for column, cells in enumerate(painted):
        for row in range(surface, HEIGHT):
            if cells[row] == 0:
                under = row > surface
                name = "water" if under else "water_r" if column % 2 else "water_l"
                cells[row] = PART_ID[name]


Near = tuple[tuple[Cell, ...], tuple[Cell, ...], tuple[Cell, ...]]
"""A column between its neighbours."""


@lru_cache(maxsize=10_000)
def _column(near: Near, odd: int) -> tuple[int, ...]:
    """The metatiles of a column."""
    return tuple(_metatile(near, odd, row) for row in range(HEIGHT))


def _cell(near: Near, side: int, row: int) -> Cell:
    """The cell in the column to the left (-1), here (0) or to the right (1)."""
    return near[1 + side][min(max(row, 0), HEIGHT - 1)]


def _is_ground(cell: Cell) -> bool:
    return cell is Cell.GROUND or cell in SLOPES


def _metatile(near: Near, odd: int, row: int) -> int:
    cell = _cell(near, 0, row)
    parity = 2 * (row % 2) + odd
    if cell is Cell.EMPTY:
        return 0
    if cell in SLOPES:
        return GROUND_ID[cell.name.lower()] + parity
    if cell is Cell.GROUND:
        return GROUND_ID[_ground_class(near, row)] + parity
    if cell is Cell.PLATFORM:
        left = _cell(near, -1, row) is Cell.PLATFORM
        right = _cell(near, 1, row) is Cell.PLATFORM
        return PART_ID["platform_m" if left and right else "platform_r" if left else "platform_l"]
    if cell is Cell.SPIKE:
        return PART_ID["spike"]
    return PART_ID["block" if _cell(near, 0, row - 1) is Cell.BLOCK else "block_top"]


def _ground_class(near: Near, row: int) -> str:
    above = _cell(near, 0, row - 1) if row else Cell.GROUND
    left = "" if _is_ground(_cell(near, -1, row)) else "l"
    right = "" if _is_ground(_cell(near, 1, row)) else "r"
    sides = f"_{left}{right}" if left or right else ""
    if above in (Cell.UP45, Cell.DOWN45, Cell.UP22_LOW, Cell.DOWN22_LOW) and not sides:
        return f"under_{above.name.lower()}"
    if not _is_ground(above):
        return f"top{sides}"
    if not _is_ground(_cell(near, 0, row + 1)) and sides != "_lr":
        return f"ceil{sides}"
    if sides == "_lr":
        return "fill_lr"
    depth = 1
    while depth < max(DEPTHS) and _is_ground(_cell(near, 0, row - depth - 1)):
        depth += 1
    return f"{DEPTHS.get(depth, 'fill')}{sides}"


def _stones(act: Act, painted: list[list[int]]) -> None:
    """Put stones into the ground, in place, so that no two stretches of an act look the same."""
    rng = _chance(act, "stones")
    plain = {
        GROUND_ID[name + side] + copy: side
        for name in ("fill", *DEPTHS.values())
        for side in SIDES
        for copy in range(4)
    }
    for column, cells in enumerate(painted):
        top = HEIGHT
        while top and _is_ground(act.columns[column][top - 1]):
            top -= 1
        places = [row for row in range(top, HEIGHT) if cells[row] in plain][:STONE_ROWS]
        for row in places:
            name = f"stone_{rng.choice(STONES)}{plain[cells[row]]}"
            if rng.random() < STONE_SHARE:
                cells[row] = GROUND_ID[name] + 2 * (row % 2) + column % 2


def _chance(act: Act, what: str) -> Random:
    """The random generator of a part of an act's look."""
    return Random(f"{ZONES[act.zone].name}.{act.number}.{act.seed}.{act.layout}.{what}")


def _ornament(act: Act, painted: list[list[int]]) -> None:
    """Place the zone's ornaments on level ground."""
    rng = _chance(act, "ornaments")
    taken = _taken(act)
    column = 1
    while column < act.width - 4:
        column += rng.randint(2, 6)
        layout = rng.choices(LAYOUTS, weights=(5, 4, 4, 3, 1, 2))[0]
        row = _level_top(act, column, layout)
        if row is None or not taken.isdisjoint(range(column, column + layout.width)):
            continue
        for dx in range(layout.width):
            for dy in range(layout.height):
                painted[column + dx][row + dy] = layout.first + dy * layout.width + dx
        column += layout.width


def _taken(act: Act) -> set[int]:
    """Columns without ornaments, so that objects stay visible."""
    taken: set[int] = set()
    for spawn in act.spawns:
        reach = SPAWN_REACH.get(spawn.kind, 1)
        taken.update(range(spawn.x // CELL - reach, spawn.x // CELL + reach + 1))
    return taken


def _level_top(act: Act, column: int, layout: Layout) -> int | None:
    """The first row of an ornament on level ground, or None."""
    if column + layout.width > act.width:
        return None
    first = act.columns[column]
    floor = next((r for r in range(HEIGHT - 1, 0, -1) if first[r - 1] is Cell.EMPTY), None)
    if floor is None or floor < layout.height or first[floor] is not Cell.GROUND:
        return None
    if floor * CELL > act.water_y:
        return None  # a cell has one picture: an ornament would replace the water
    for cells in act.columns[column : column + layout.width]:
        if cells[floor] is not Cell.GROUND:
            return None
        if any(cell is not Cell.EMPTY for cell in cells[floor - layout.height : floor]):
            return None
    return floor - layout.height
