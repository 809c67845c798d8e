"""How much two acts have in common: the longest run of consecutive columns that both hold.

Two measures. *Seen*: columns are equal that are drawn alike from top to bottom and hold the same
objects; a metatile's four copies, which only continue a pattern, count as one. *Outline*: equal are
the cells and objects within a screen's height around the ground, at whatever height the ground
lies; stones, ornaments and water do not count. So level ground is all alike there."""

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from cartridge.levels import splits
from cartridge.levels.cells import CELL, HEIGHT, Act, Cell
from cartridge.levels.check import floor_of
from cartridge.levels.generator import SEED, all_acts
from cartridge.levels.paint import FIRST_GROUND, FIRST_PART, PART_ID, paint
from cartridge.levels.simulator import name_of
from experiment.errors import UserError
from experiment.files import write_text

FILE = Path(__file__).parent / "likeness.json"
MOST = 12
"""Columns in a row, as they are seen, that no two acts may share."""
ABOVE, BELOW = 9, 5
"""Rows around the ground that a screen shows."""
TEST = frozenset(splits.held_out())
Columns = list[Hashable]


def seen(act: Act) -> Columns:
    """Every column as it is drawn, with its objects."""
    things = defaultdict(list)
    for s in act.spawns:
        things[s.x // CELL].append((s.x % CELL, s.y, s.kind, s.arg, s.arg2, s.arg3))
    return [(tuple(map(_folded, column)), tuple(things[i])) for i, column in enumerate(paint(act))]


def _folded(metatile: int) -> int:
    """The first of a metatile's copies."""
    if FIRST_GROUND <= metatile < FIRST_PART:
        return metatile - (metatile - FIRST_GROUND) % 4
    return PART_ID["water_l"] if metatile == PART_ID["water_r"] else metatile


def outline(act: Act) -> Columns:
    """Every column's cells and objects around the ground, wherever that lies."""
    things = defaultdict(list)
    for s in act.spawns:
        things[s.x // CELL].append((s.x % CELL, s.y, s.kind, s.arg, s.arg2))
    found: Columns = []
    level = HEIGHT
    for i, column in enumerate(act.columns):
        before, level = level, floor_of(column) or level
        padded = [*[Cell.EMPTY] * ABOVE, *column, *[column[-1]] * BELOW]
        objects = tuple((x, y - before * CELL, *rest) for x, y, *rest in things[i])
        found.append((tuple(padded[before : before + ABOVE + BELOW]), level - before, objects))
    return found


def longest(some: Sequence[Columns], others: Sequence[Columns]) -> int:
    """The longest run of columns that one of some and one of the others share."""
    low, high = 0, min(max(map(len, some)), max(map(len, others)))
    while low < high:
        middle = (low + high + 1) // 2
        if _runs(some, middle).isdisjoint(_runs(others, middle)):
            high = middle - 1
        else:
            low = middle
    return low


def _runs(acts: Sequence[Columns], length: int) -> set[Columns | tuple[Hashable, ...]]:
    return {tuple(act[i : i + length]) for act in acts for i in range(len(act) - length + 1)}


def numbered(acts: Sequence[Columns], numbers: dict[Hashable, int]) -> list[Columns]:
    """The same acts with small numbers for equal columns: quick to compare. Grows numbers."""
    return [[numbers.setdefault(column, len(numbers)) for column in act] for act in acts]


def measured(seeds: int) -> dict[str, dict[str, int]]:
    """The longest runs by measure: within the shipped cartridge, and over it and the next seeds."""
    cartridges = {seed: all_acts(seed) for seed in range(SEED, SEED + seeds)}
    measures: tuple[Callable[[Act], Columns], ...] = (seen, outline)
    return {view.__name__: _measured(cartridges, view) for view in measures}


def _measured(cartridges: dict[int, list[Act]], view: Callable[[Act], Columns]) -> dict[str, int]:
    numbers: dict[Hashable, int] = {}
    held_out, within, across = [], [], []
    made = {s: numbered([view(a) for a in acts], numbers) for s, acts in cartridges.items()}
    for seed, acts in cartridges.items():
        test = [c for a, c in zip(acts, made[seed], strict=True) if name_of(a) in TEST]
        train = [c for a, c in zip(acts, made[seed], strict=True) if name_of(a) not in TEST]
        held_out.append(longest(test, train))
        within.append(max(longest([a], [b]) for a, b in itertools.combinations(made[seed], 2)))
    for a, b in itertools.combinations(made, 2):
        across.append(longest(made[a], made[b]))
    return {
        "shipped_held_out_and_training": held_out[0],
        "held_out_and_training": max(held_out),
        "acts_of_a_seed": max(within),
        "acts_of_two_seeds": max(across, default=0),
    }


def write(seeds: int, path: Path = FILE) -> dict[str, dict[str, int]]:
    """Measure so many seeds, at least 1, and store the result. Errors: UserError."""
    if seeds < 1:
        raise UserError(f"--seeds must be 1 or more, not {seeds}")
    found = measured(seeds)
    text = {"command": f"python -m cartridge.levels likeness --seeds {seeds}", "longest_run": found}
    write_text(path, json.dumps(text, indent=1) + "\n")
    return found
