"""Every act can be finished: the committed proofs replay, some of them in the emulator."""

from random import Random

import pytest

from cartridge.levels import oracle
from cartridge.levels.cells import SpawnKind
from cartridge.levels.console import MASKS, open_console
from cartridge.levels.generator import all_acts
from cartridge.levels.splits import held_out, level_names
from cartridge.levels.zones import name_of
from retro_agents.ground.errors import UserError

LEVELS = level_names()
ACTS = all_acts()
SAMPLE = [LEVELS[0], *held_out()[3:10:2]]


@pytest.fixture(scope="module")
def console():
    with open_console() as opened:
        yield opened


@pytest.mark.parametrize("level", SAMPLE)
def test_proof_finishes_its_act_without_lag(console, level):
    status = oracle.replay(console, level, oracle.read_proof(level))
    assert status.finished and not status.lost, level
    assert 9700 < status.score <= 10000, level
    assert console.env.data.lookup_value("lag") == 0, level


def test_all_58_proofs_are_compact_and_finish_their_acts(simulator):
    for level in LEVELS:
        status = oracle.replay(simulator, level, oracle.read_proof(level))
        assert status.finished and status.score > 9700, level
    sizes = {path.stem: path.stat().st_size for path in oracle.PROOFS.glob("*.json")}
    assert sorted(sizes) == sorted(LEVELS)
    assert max(sizes.values()) < 4000


@pytest.mark.parametrize("level", SAMPLE[:3])
def test_simulator_equals_the_emulator_step_by_step(console, simulator, level):
    actions = oracle.read_proof(level)
    rng = Random(level)
    stuck = [rng.random() < 0.25 for _ in actions]
    assert simulator.start(level) == console.start(level)
    for action, late in zip(actions, stuck, strict=True):
        here, there = (m.play((action,), stuck=(late,))[0] for m in (simulator, console))
        assert here == there
        if here.over:
            break


def test_simulator_equals_the_emulator_at_random_play(console, simulator):
    rng = Random(1)
    for level in (LEVELS[16], LEVELS[23], LEVELS[27]):
        actions = [rng.choice((0, 1, 1, 1, 1, 3, 4, 5, 6, 6)) for _ in range(400)]
        simulator.start(level)
        console.start(level)
        assert simulator.play(actions) == console.play(actions)


def test_a_restored_state_goes_on_exactly(simulator):
    rng = Random(4)
    simulator.start(LEVELS[30])
    simulator.play([rng.choice((1, 1, 6)) for _ in range(60)])
    state = simulator.save()
    actions = [rng.randrange(7) for _ in range(100)]
    first = simulator.play(actions), simulator.save()
    simulator.start(LEVELS[2])
    simulator.restore(state)
    assert (simulator.play(actions), simulator.save()) == first


@pytest.mark.parametrize("index", [0, 16, 30, 56])
def test_search_finds_its_way_through_an_act(simulator, index):
    actions = oracle.plan(simulator, ACTS[index])
    assert oracle.replay(simulator, LEVELS[index], actions).finished


def test_time_tells_states_apart_only_near_what_moves_by_the_clock(simulator):
    act = next(a for a in ACTS if any(s.kind is SpawnKind.PISTON for s in a.spawns))
    cell = oracle.cells_of(act)
    status = simulator.start(name_of(act))
    piston = next(s.x for s in act.spawns if s.kind is SpawnKind.PISTON)
    later = status._replace(frame=status.frame + 64)
    assert cell(status) == cell(later)
    assert cell(status._replace(x=piston)) != cell(later._replace(x=piston))


def test_console_scores_and_sticks_as_the_contest_does(console):
    end = oracle.replay(console, LEVELS[1], oracle.read_proof(LEVELS[1]))
    assert end.score == pytest.approx(9000 + 1000 * (1 - end.frame / 18000), abs=1)
    middle = oracle.replay(console, LEVELS[1], oracle.read_proof(LEVELS[1])[:100])
    assert middle.score == pytest.approx(9000 * middle.part, abs=1)
    console.start(LEVELS[0])
    late, _ = console.play((*(oracle.RIGHT,) * 4, oracle.DOWN), stuck=(*(False,) * 4, True))
    console.start(LEVELS[0])
    console.play((oracle.RIGHT,) * 4)
    console.frames(MASKS[oracle.RIGHT], 1)
    console.frames(MASKS[oracle.DOWN], 3)
    assert console.status() == late


def test_holding_right_finishes_no_act_and_a_search_that_runs_out_says_where(simulator):
    for level in LEVELS:
        simulator.start(level)
        status, _ = simulator.play((oracle.RIGHT,) * 1500)
        assert not status.finished, level
        assert 0.02 <= status.part <= 0.65, level
    with pytest.raises(UserError, match=r"BrambleWood.Act1: the oracle is stuck at x = \d+"):
        oracle.plan(simulator, ACTS[0], budget=2)


def test_written_actions_are_read_back():
    actions = [1, 1, 1, 6, 6, 3, 0, 5]
    assert oracle.encode(actions) == "R3 J2 r1 L1 D1"
    assert oracle.decode(oracle.encode(actions)) == actions
