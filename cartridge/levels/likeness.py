"""The similarity of two acts: the longest run of consecutive columns that both contain.

There are two measures. *Seen*: columns are equal if they are drawn the same from top to bottom and
have the same objects; a metatile's four copies, which only continue a pattern, count as one.
*Outline*: columns are equal if they have the same cells and objects within a screen's height around
the ground, at any height, without stones, ornaments and water. All level ground is then equal."""

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cartridge.levels import splits
from cartridge.levels.cells import CELL, HEIGHT, Act, Cell
from cartridge.levels.check import floor_of
from cartridge.levels.generator import SEED, all_acts
from cartridge.levels.paint import FIRST_GROUND, FIRST_PART, PART_ID, paint
from cartridge.levels.zones import name_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_text

FILE = Path(__file__).parent / "likeness.json"
MOST = 12
"""Consecutive columns by the measure *seen* that no two acts may share."""
ABOVE, BELOW = 9, 5
"""Rows around the ground that a screen shows."""
TEST = frozenset(splits.held_out())
Columns = list[Hashable]


def seen(act: Act) -> Columns:
    """Every column's picture, with its objects."""
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
    """Every column's cells and objects around the ground, relative to its height."""
    things = defaultdict(list)
    for s in act.spawns:
        things[s.x // CELL].append((s.x % CELL, s.y, s.kind, s.arg, s.arg2))
    columns: Columns = []
    level = HEIGHT
    for i, column in enumerate(act.columns):
        before, level = level, floor_of(column) or level
        padded = [*[Cell.EMPTY] * ABOVE, *column, *[column[-1]] * BELOW]
        objects = tuple((x, y - before * CELL, *rest) for x, y, *rest in things[i])
        columns.append((tuple(padded[before : before + ABOVE + BELOW]), level - before, objects))
    return columns


def longest(groups: Sequence[Sequence[Columns]]) -> int:
    """The longest run of columns that acts of two different groups share."""
    numbers: dict[Hashable, int] = {}
    columns, owners = [], []
    for group, acts in enumerate(groups):
        for act in acts:
            columns += [numbers.setdefault(column, len(numbers)) for column in act]
            columns.append(numbers.setdefault(object(), len(numbers)))  # no run goes beyond an act
            owners += [group] * (len(act) + 1)
    names, owner = np.array(columns, np.int64), np.array(owners, np.int64)
    low, high = 0, len(names)
    while low < high:
        middle = (low + high + 1) // 2
        runs = _names_of_runs(names, middle)
        pairs = np.unique(np.stack([runs, owner[: len(runs)]]), axis=1)
        low, high = (middle, high) if (np.diff(pairs[0]) == 0).any() else (low, middle - 1)
    return low


def _names_of_runs(names: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """A number for each run of `length` columns, by its first; equal runs have equal numbers."""
    if length == 1:
        return names
    half = _names_of_runs(names, (length + 1) // 2)
    first, last = half[: len(names) - length + 1], half[length // 2 :]
    numbers: NDArray[np.int64] = np.unique(first * len(names) + last, return_inverse=True)[1]
    return numbers


def measured(seeds: int) -> dict[str, dict[str, int]]:
    """The longest runs by measure: in the shipped cartridge, and over it and the next seeds."""
    cartridges = {seed: all_acts(seed) for seed in range(SEED, SEED + seeds)}
    measures: tuple[Callable[[Act], Columns], ...] = (seen, outline)
    return {view.__name__: _measured(cartridges, view) for view in measures}


def _measured(cartridges: dict[int, list[Act]], view: Callable[[Act], Columns]) -> dict[str, int]:
    made = {seed: [view(act) for act in acts] for seed, acts in cartridges.items()}
    held_out = [longest(by_split(cartridges[seed], acts)) for seed, acts in made.items()]
    return {
        "shipped_held_out_and_training": held_out[0],
        "held_out_and_training": max(held_out),
        "acts_of_a_seed": max(longest([[act] for act in acts]) for acts in made.values()),
        "acts_of_two_seeds": longest(list(made.values())),
    }


def by_split(
    acts: Sequence[Act], columns: Sequence[Columns]
) -> tuple[list[Columns], list[Columns]]:
    """The columns of the held-out acts, and those of the training acts."""
    pairs = list(zip(acts, columns, strict=True))
    test = [column for act, column in pairs if name_of(act) in TEST]
    return test, [column for act, column in pairs if name_of(act) not in TEST]


def write(seeds: int, path: Path = FILE) -> dict[str, dict[str, int]]:
    """Measure `seeds` seeds and store the result. Raises UserError if seeds is below 1."""
    if seeds < 1:
        raise UserError(f"--seeds must be 1 or more, not {seeds}")
    runs = measured(seeds)
    text = {"command": f"python -m cartridge.levels likeness --seeds {seeds}", "longest_run": runs}
    write_text(path, json.dumps(text, indent=1) + "\n")
    return runs
