"""The robust oracle: it looks up, it does not search, and practice makes it safer."""

from random import Random

import pytest

from cartridge.levels import library, oracle, robust
from cartridge.levels.cells import CELL, SpawnKind
from cartridge.levels.generator import all_acts
from cartridge.levels.library import Advice, Library, Memory
from cartridge.levels.robust import Builder
from cartridge.levels.zones import name_of

ACTS = all_acts()
ACT = ACTS[5]


@pytest.fixture(scope="module")
def practised(simulator):
    plan = oracle.read_proof(name_of(ACT))
    return Builder(simulator, ACT, Random(0)).build(plan, episodes=30)


def test_practice_beats_the_plan_alone(simulator, practised):
    alone = Builder(simulator, ACT, Random(0)).build(oracle.read_proof(name_of(ACT)), episodes=0)
    taught = robust.measure(simulator, ACT, practised)
    assert taught.finished > robust.measure(simulator, ACT, alone).finished
    assert taught.finished >= robust.EPISODES // 2


def test_measuring_is_repeatable_and_neither_saves_restores_nor_learns(
    simulator, practised, monkeypatch
):
    before = repr(practised)
    monkeypatch.setattr(robust, "EPISODES", 2)
    monkeypatch.setattr(simulator, "save", None)
    robust.measure(simulator, ACT, practised)
    assert repr(practised) == before
    monkeypatch.setattr(robust, "EPISODES", 3)
    first = robust.measure(simulator, ACT, practised)
    assert robust.measure(simulator, ACT, practised) == first


def small_library(simulator):
    """A library of two states, and the status that they are like."""
    made = Library([0] * 20)
    status = simulator.start(name_of(ACT))
    made.add(status._replace(x=100), Memory(), oracle.RIGHT)
    made.add(status._replace(x=120), Memory(), oracle.JUMP)
    return made, status


def advised(made, status, **memory):
    """The action that a library advises; None: none."""
    found = made.find(status, Memory(**memory))
    return found and found.action


def test_the_nearest_trusted_state_in_the_same_pose_gives_the_advice(simulator):
    made, status = small_library(simulator)
    for x, action in ((104, oracle.RIGHT), (117, oracle.JUMP)):
        assert advised(made, status._replace(x=x)) == action
    assert advised(made, status._replace(x=100, flags=1)) is None
    assert advised(made, status._replace(x=100, y=status.y - 120)) is None
    assert advised(made, status._replace(x=100), held=oracle.JUMP) is None
    jump = made.find(status._replace(x=117), Memory())
    jump.used = jump.astray = 3
    assert advised(made, status._replace(x=117)) == oracle.RIGHT
    made.add(status._replace(x=100), Memory(), oracle.LEFT)
    assert advised(made, status._replace(x=100)) == oracle.LEFT


def test_clocks_go_round_and_count_only_near_what_moves_by_them():
    assert library._away((0, 0, 0, 0, 2), (0, 0, 0, 0, 118), 120) == 4 / library.CLOCK
    assert Advice((0, 0, 0, 0, 0), 1).distrust == 0
    here = (0, 0, 0, 0, 0)
    for other in (200, 10, 63):
        there = (*here[:4], other)
        assert library._away(there, here, 0) == 0.0  # nothing near moves by the clock
        assert 0.0 <= library._away(there, here, 64) <= 32 / library.CLOCK
    act = next(a for a in ACTS if any(s.kind is SpawnKind.PISTON for s in a.spawns))
    periods = library.periods_of(act)
    piston = next(s for s in act.spawns if s.kind is SpawnKind.PISTON)
    assert periods[piston.x // library.BIN] == 8 * piston.arg
    assert periods[0] == 0
    assert len(periods) * library.BIN >= act.width * CELL
