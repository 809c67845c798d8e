"""Every act can be finished: the committed proofs replay in the emulator."""

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cartridge.levels import oracle, references
from cartridge.levels.console import MASKS, Console, open_console
from cartridge.levels.splits import level_names
from experiment.errors import UserError

LEVELS = level_names()


@pytest.fixture(scope="module")
def console() -> Iterator[Console]:
    with open_console() as opened:
        yield opened


@pytest.mark.parametrize("level", LEVELS)
def test_proof_finishes_its_act(console: Console, level: str) -> None:
    status = oracle.replay(console, level, oracle.read_proof(level))
    assert status.finished
    assert not status.lost
    assert 9000 < status.score <= 10000


def test_restored_state_goes_on_exactly(console: Console) -> None:
    rng = Random(3)
    console.start(LEVELS[4])
    for _ in range(40):
        console.act(rng.randrange(7))
    state = console.save()
    actions = [rng.randrange(7) for _ in range(120)]

    def play() -> tuple[list, np.ndarray, np.ndarray]:
        console.restore(state)
        statuses = [console.act(action) for action in actions]
        return statuses, console.env.em.get_screen().copy(), console.env.get_ram().copy()

    first, second = play(), play()
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])
    assert np.array_equal(first[2], second[2])


def test_search_finds_its_way_through_an_act(console: Console) -> None:
    actions = oracle.plan(console, LEVELS[0])
    assert oracle.replay(console, LEVELS[0], actions).finished


def test_search_that_runs_out_says_where(console: Console) -> None:
    with pytest.raises(UserError, match=r"BrambleWood.Act1: the oracle is stuck at x = \d+"):
        oracle.plan(console, LEVELS[0], budget=2)


def test_score_is_the_contest_formula(console: Console) -> None:
    end = oracle.replay(console, LEVELS[1], oracle.read_proof(LEVELS[1]))
    assert end.score == pytest.approx(9000 + 1000 * (1 - end.frame / 18000), abs=1)
    middle = oracle.replay(console, LEVELS[1], oracle.read_proof(LEVELS[1])[:100])
    assert middle.score == pytest.approx(9000 * middle.part, abs=1)


def test_holding_right_ends_early_on_every_act(console: Console) -> None:
    for level in LEVELS:
        status = console.start(level)
        for _ in range(1200):
            console.frames(MASKS[oracle.RIGHT], 1)
            status = console.status()
            if status.over:
                break
        assert not status.finished
        assert 0.1 <= status.part <= 0.4


def test_written_actions_are_read_back() -> None:
    actions = [1, 1, 1, 6, 6, 3, 0, 5]
    assert oracle.encode(actions) == "R3 J2 r1 L1 D1"
    assert oracle.decode(oracle.encode(actions)) == actions


def test_random_episodes_are_a_function_of_the_seed(console: Console) -> None:
    ends = [
        references.episode(console, LEVELS[0], references.random_player, Random(5))
        for _ in range(2)
    ]
    assert ends[0] == ends[1]


def test_committed_references_meet_the_difficulty_asked_for() -> None:
    with references.FILE.open() as file:
        rows = list(csv.DictReader(file))
    mean = {
        agent: np.mean([float(row["mean_return"]) for row in rows if row["agent"] == agent])
        for agent in ("random", "right", "run_and_jump", "oracle")
    }
    finished = {row["level"] for row in rows if row["agent"] == "oracle" and row["finished"] == "1"}
    assert finished == set(LEVELS)
    assert sum(row["agent"] == "right" and row["finished"] != "0" for row in rows) <= 1
    assert 300 <= mean["random"] <= 2000
    assert mean["random"] < mean["right"] < mean["run_and_jump"] < mean["oracle"]


def test_proofs_are_compact() -> None:
    sizes = [Path(path).stat().st_size for path in oracle.PROOFS.glob("*.json")]
    assert len(sizes) == len(LEVELS)
    assert max(sizes) < 4000
