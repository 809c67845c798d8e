"""Checks acts before they are emitted, for unreachable places, objects inside rock, and the like.

The checks are necessary, not sufficient: the oracle proves that an act can be finished."""

from cartridge.levels import physics
from cartridge.levels.cells import CELL, HEIGHT, SLOPES, Act, Cell, SpawnKind
from cartridge.levels.chunks import PIECES

WIDTHS = range(375, 626)
RUNWAY = 10
"""Least number of columns for a run-up before a hole."""
SPRING_REACH = 8
"""Columns before an obstacle within which a spring helps."""
OPEN = (Cell.EMPTY, Cell.PLATFORM)
UPWARD = (Cell.UP45, Cell.UP22_LOW, Cell.UP22_HIGH)
SOLID = (Cell.GROUND, Cell.BLOCK, Cell.PLATFORM)
FLOATING = {SpawnKind.PLATFORM_X, SpawnKind.PLATFORM_Y, SpawnKind.PLATFORM_CRUMBLE}
"""Objects to stand on."""
HANGING = {SpawnKind.RING, SpawnKind.WIND, *FLOATING}
"""Objects that need no ground."""
MOST_SPAWNS, MOST_WINDS, MOST_GATES = 255, 16, 8


def problems(act: Act) -> list[str]:
    """All faults of an act; empty if there are none."""
    faults = []
    if act.width not in WIDTHS:
        faults.append(f"{act.width} columns, expected {WIDTHS.start} to {WIDTHS.stop - 1}")
    if any(len(column) != HEIGHT for column in act.columns):
        faults.append(f"a column without {HEIGHT} rows")
    if not 0 < act.start[0] < act.end_x < (act.width - 10) * CELL:
        faults.append(f"start {act.start[0]} and end {act.end_x} do not fit {act.width} columns")
    kinds = [spawn.kind for spawn in act.spawns]
    for kind, most in ((SpawnKind.WIND, MOST_WINDS), (SpawnKind.GATE, MOST_GATES)):
        if kinds.count(kind) > most:
            faults.append(f"{kinds.count(kind)} of {kind.name}, expected at most {most}")
    if len(kinds) > MOST_SPAWNS:
        faults.append(f"{len(kinds)} objects, expected at most {MOST_SPAWNS}")
    return faults + _ground_problems(act) + _ramp_problems(act) + _spawn_problems(act)


def floor_of(column: tuple[Cell, ...]) -> int | None:
    """The row of a column's ground, below all floating cells; None over a hole."""
    if column[-1] in OPEN:
        return None
    return next(row for row in range(HEIGHT - 1, -1, -1) if row == 0 or column[row - 1] in OPEN)


def safe_row(column: tuple[Cell, ...]) -> int | None:
    """The row on which a hero can stand: the ground, or a platform over a hole or spikes."""
    floor = floor_of(column)
    if floor is not None and column[floor] is not Cell.SPIKE:
        return floor
    platforms = [row for row in range(HEIGHT) if column[row] is Cell.PLATFORM]
    return platforms[-1] if platforms else None


def _left_to_the_oracle(act: Act) -> set[int]:
    """Columns of special obstacles, which need more than a jump."""
    ends = [first for _, first in act.chunks[1:]] + [act.width]
    spans = zip(act.chunks, ends, strict=True)
    return {
        c for (name, first), end in spans if PIECES[name].kind != "none" for c in range(first, end)
    }


def _carried(act: Act) -> dict[int, int]:
    """Columns that a floating object covers at some time, with its row."""
    rows = {}
    for spawn in act.spawns:
        if spawn.kind in FLOATING:
            reach = 24 + (8 * spawn.arg if spawn.kind is SpawnKind.PLATFORM_X else 0)
            for column in range((spawn.x - reach) // CELL, (spawn.x + reach) // CELL):
                rows[column] = spawn.y // CELL
    return rows


def _ground_problems(act: Act) -> list[str]:
    faults = []
    springs = [s.x // CELL for s in act.spawns if s.kind is SpawnKind.SPRING_UP]
    special, carried = _left_to_the_oracle(act), _carried(act)
    last, row = 0, safe_row(act.columns[0])
    if row is None:
        return ["no ground at the left end"]
    for column in range(1, act.width):
        here = safe_row(act.columns[column])
        here = carried.get(column) if here is None else here
        if here is None:
            continue
        if column not in special:
            helped = any(column - SPRING_REACH - (column - last) <= s <= column for s in springs)
            gap, rise = column - last - 1, row - here
            if gap > _widest(act, column) and not helped:
                faults.append(f"column {column}: a hole of {gap} columns")
            if rise > (physics.spring_cells(1) if helped else physics.wall_cells()):
                faults.append(f"column {column}: a wall of {rise} rows")
        last, row = column, here
    return faults


def _ramp_problems(act: Act) -> list[str]:
    """Ramps with an open high side: only whole blocks are walls, so a hero would fall into them."""
    faults = []
    for column, cells in enumerate(act.columns):
        for row, cell in enumerate(cells):
            side = 1 if cell in UPWARD else -1
            if cell in SLOPES and 0 <= column + side < act.width:
                beside = act.columns[column + side][row]
                if beside is Cell.EMPTY:
                    faults.append(f"column {column}: a ramp without a wall on its high side")
    return faults


def _widest(act: Act, column: int) -> int:
    """The widest hole that may end at a column; after a booster it may be wider."""
    near = range(column * CELL - 30 * CELL, column * CELL)
    boosted = any(s.kind is SpawnKind.BOOSTER and s.x in near for s in act.spawns)
    return physics.jump_cells(runway=RUNWAY * CELL * (4 if boosted else 1))


def _spawn_problems(act: Act) -> list[str]:
    faults = []
    if list(act.spawns) != sorted(act.spawns):
        faults.append("spawns are not sorted")
    for spawn in act.spawns:
        column, row = spawn.x // CELL, spawn.y // CELL
        where = f"{spawn.kind.name} at column {column}"
        if spawn.kind not in FLOATING and act.columns[column][row - 1] is not Cell.EMPTY:
            faults.append(f"{where} stands in rock")
        if spawn.kind in HANGING:
            continue
        reach = spawn.arg if spawn.kind in (SpawnKind.WALKER, SpawnKind.JUMPER) else 0
        path = act.columns[column - reach : column + reach + 1]
        if any(cells[row] not in SOLID or cells[row - 1] is not Cell.EMPTY for cells in path):
            faults.append(f"{where} has no level ground")
    return faults
