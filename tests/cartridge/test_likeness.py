"""How much acts have in common: measured rightly, and little."""

import dataclasses
import json
from itertools import product
from random import Random

import pytest

from cartridge.levels import likeness
from cartridge.levels.cells import CELL, Cell, SpawnKind
from cartridge.levels.generator import all_acts, make_act
from cartridge.levels.paint import paint
from retro_agents.ground.errors import UserError


def slowly(a, b):
    """The longest common run, by trying every pair of places."""

    def run(i, j):
        length = 0
        while i + length < len(a) and j + length < len(b) and a[i + length] == b[j + length]:
            length += 1
        return length

    return max((run(i, j) for i, j in product(range(len(a)), range(len(b)))), default=0)


def test_longest_run_equals_that_of_trying_every_pair_of_places():
    rng = Random(0)
    for _ in range(50):
        a, b = ([rng.randrange(3) for _ in range(rng.randint(1, 30))] for _ in range(2))
        assert likeness.longest([[list(a)], [list(b)]]) == slowly(list(a), list(b))
    assert likeness.longest([[[1, 2], [3, 4]], [[1, 2, 3, 4]]]) == 2
    assert likeness.longest([[[1, 2], [1, 2]], [[5]]]) == 0
    columns = likeness.seen(make_act(0, 1))
    assert likeness.longest([[columns], [columns]]) == len(columns)


def test_a_column_is_its_picture_and_its_objects_wherever_the_pattern_stands():
    act = make_act(0, 1)
    columns = likeness.seen(act)
    ring = next(s for s in act.spawns if s.kind is SpawnKind.RING)
    without = dataclasses.replace(act, spawns=tuple(s for s in act.spawns if s is not ring))
    other = [i for i, c in enumerate(likeness.seen(without)) if c != columns[i]]
    assert ring.x // CELL in other
    first = next(i for i in range(20) if columns[i] == columns[i + 1])
    assert paint(act)[first] != paint(act)[first + 1]


def test_outline_is_the_same_at_another_height():
    act = make_act(0, 1)
    lower = [(Cell.EMPTY, *column[:-1]) for column in act.columns]
    spawns = tuple(dataclasses.replace(s, y=s.y + CELL) for s in act.spawns)
    moved = dataclasses.replace(act, columns=tuple(lower), spawns=spawns)
    assert likeness.outline(moved)[1:] == likeness.outline(act)[1:]


def test_held_out_acts_do_not_repeat_training_acts():
    acts = all_acts()
    columns = [likeness.seen(act) for act in acts]
    run = likeness.longest(likeness.by_split(acts, columns))
    assert run <= likeness.MOST
    stored = json.loads(likeness.FILE.read_text())
    seen = stored["longest_run"]["seen"]
    assert seen["shipped_held_out_and_training"] == run, "run the tool `likeness` anew"
    assert stored["command"].endswith("--seeds 10") and max(seen.values()) <= likeness.MOST


def test_seeds_below_one_are_refused(tmp_path):
    with pytest.raises(UserError, match="--seeds must be 1 or more"):
        likeness.write(0, tmp_path / "likeness.json")
