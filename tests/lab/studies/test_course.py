"""The course's unit against a slow sum by hand, and what the pages on Procgen say."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lab.studies import procgen_pages
from lab.studies.course import GAMMA, about, evaluate, runs_in, varied
from lab.studies.procgen_pages import GROUPED_BY, KNOWN_BY, by_number, entry_row, theirs_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import machine

REWARDS = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 1.0], [8.0, 0.0], [0.0, 32.0]])
ENDS = np.array([[0, 0], [0, 0], [1, 0], [0, 0], [0, 1]], bool)
"""[T,N]: the first environment's episode ends with a reward of 4, the second's with one of 32."""


class Told:
    """Environments whose rewards and ends are known."""

    num_envs = 2

    def __init__(self):
        self.t = 0

    def reset(self, *, seed):
        return np.zeros((2, 3, 4, 4), np.uint8), {}

    def step(self, actions):
        self.t += 1
        rewards, ended = REWARDS[self.t - 1], ENDS[self.t - 1]
        return np.zeros((2, 3, 4, 4), np.uint8), rewards, ended, np.zeros(2, bool), {}


class Still:
    def act(self, obs, *, starts, explore):
        assert explore
        return np.zeros(len(obs), np.int64)


def slowly():
    """The course's evaluation, number by number: every environment's discounted sums so far give
    the deviation, those of episodes after the first one too; the last step's reward is left out."""
    sums, seen, totals, playing = [0.0, 0.0], [], [0.0, 0.0], [True, True]
    for rewards, ended in zip(REWARDS, ENDS, strict=True):
        sums = [GAMMA * s + r for s, r in zip(sums, rewards, strict=True)]
        seen += sums
        mean = sum(seen) / len(seen)
        deviation = math.sqrt(sum((s - mean) ** 2 for s in seen) / len(seen) + 1e-8)
        for n in range(2):
            playing[n] = playing[n] and not ended[n]
            if playing[n]:
                totals[n] += min(rewards[n] / deviation, 10.0)
            if ended[n]:
                sums[n] = 0.0
    return totals


def test_the_courses_unit_is_that_of_a_slow_sum():
    raw, scaled = evaluate(Still(), Told(), seed=0)
    np.testing.assert_array_equal(raw, [5.0, 35.0])
    np.testing.assert_allclose(scaled, slowly(), rtol=1e-6)


PENALTY = {"update": "penalty", "penalty": 0.25, "critic": "untrained"}


@pytest.mark.parametrize(
    ("agent", "config", "method"),
    [
        ("ppo2", {}, "PPO"),
        ("trpo", PENALTY, "penalty 0.25"),
        ("trpo", {**PENALTY, "critic": "apart"}, "penalty 0.25, critic trained"),
        ("trpo", {"update": "natural", "max_kl": 0.01}, "TRPO, KL 0.01"),
    ],
)
def test_methods_are_named_as_in_the_courses_table(agent, config, method):
    config = dict.fromkeys(("encoder", "hidden", "num_levels", "timesteps", "seed"), 1) | config
    assert about(SimpleNamespace(agent=agent, config=config))["method"] == method


def test_a_run_that_has_not_ended_is_left_out(tmp_path):
    cell = tmp_path / "num_levels=1" / "all-0.json"
    cell.parent.mkdir()
    cell.write_text('{"made": {"seed": 0}}')
    with pytest.raises(UserError, match="no complete run"):
        runs_in(tmp_path)
    cell.write_text('{"made": {"seed": 0}, "levels": {"0": 11.4}}')
    with pytest.raises(UserError, match="all-0"):  # which is nowhere
        runs_in(tmp_path)


def test_the_page_has_theirs_beside_ours_and_how_the_gap_changes(monkeypatch):
    gaps = {1: [20.0, 22.0], 10: [11.0, 9.0], 100: [0.5, -0.5]}
    rows = [
        {
            **dict(zip(KNOWN_BY, ("PPO", "nature", 32, levels), strict=True)),
            "seed": seed,
            "timesteps": 1_000_000,
            "train": {"raw": [5.0 + gap] * 2, "course": [8.0, 9.0], "normalised": 0.3},
            "test": {"raw": [5.0] * 2, "course": [4.0, 4.0], "normalised": 0.1},
        }
        for levels, seeds in gaps.items()
        for seed, gap in enumerate(seeds)
    ]
    other = {**rows[2], "timesteps": 2_000_000}  # and a run of its own, in two sweeps
    sweeps = {"levels": rows, "more": [rows[2], other], "again": [other]}
    origin = {"command": "python -m lab.studies.course x", "commit": "c", "machine": machine()}
    results = {name: {**origin, "rows": found} for name, found in sweeps.items()}
    monkeypatch.setattr(procgen_pages, "measured", lambda name: results)
    lines = procgen_pages.course_page().splitlines()
    at_ten = next(line for line in lines if line.startswith("| PPO | nature | 32 | 10 |"))
    cells = at_ten.strip("| ").split(" | ")
    assert cells[4:6] == ["1,000,000", "2"]
    assert cells[6:9] == ["15.00 (2.29 – 27.71)", "5.00 (5.00 – 5.00)", "10.00 (−2.71 – 22.71)"]
    assert cells[9:] == ["0.300", "0.100", "8.5", "4.0", "2,000,000", "11.4", "6.6"]
    # Residuals' squares sum to 4.833, so the error is sqrt(4.833 / 4 / 4); t = 2.776445.
    (line,) = [line for line in lines if "changes by" in line]
    assert sum(line.startswith("| PPO | nature | 32 | 10 |") for line in lines) == 2
    assert "PPO, nature, 32 units, 1,000,000 steps" in line and "6 runs" in line
    assert "changes by −10.50 (−12.03 to −8.97)" in line


def test_penalties_are_in_the_order_of_their_numbers():
    names = ["penalty 10", "penalty 2", "PPO", "penalty 0.25"]
    assert sorted(names, key=by_number) == ["PPO", "penalty 0.25", "penalty 2", "penalty 10"]


def test_of_theirs_the_one_of_most_nearly_as_many_steps_is_shown():
    like = dict(zip(KNOWN_BY, ("PPO", "nature", 128, 400), strict=True))
    found = [theirs_of({**like, "timesteps": steps}) for steps in (1_000_000, 4_000_000)]
    assert [(row["timesteps"], row["train"]) for row in found] == [
        (2_000_000, 10.9),
        (4_000_000, 13.1),
    ]
    assert theirs_of({**like, "num_levels": 7, "timesteps": 1}) is None


def test_runs_that_differ_in_two_things_make_no_picture():
    one = dict(zip(GROUPED_BY, ("PPO", "nature", 32, 10, 1), strict=True))
    assert varied([one, {**one, "num_levels": 50}, {**one, "seed": 1}]) == "num_levels"
    assert varied([one, {**one, "method": "penalty 2"}]) == "method"
    with pytest.raises(UserError, match="differ in encoder and num_levels"):
        varied([one, {**one, "num_levels": 50, "encoder": "impala"}])


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        (
            {"label": "PPO2", "seed": 3, "env_steps": 1000, "learning": 5, "learning_error": 1},
            ["PPO2", "coinrun", "3", "1,000", "5.00 ± 1.00", "", "", "", "", "8.9"],
        ),
        (
            {"label": "random play", "frozen": 3.0, "interval": [2.0, 4.0], "episodes": 2},
            ["random play", "coinrun", "", "", "", "3.00 (2.00 – 4.00)", "2", "", "", ""],
        ),
    ],
)
def test_an_entrys_row_stands_beside_theirs_and_leaves_empty_what_is_not_known(row, cells):
    theirs = {"steps": 8_000_000, "rows": {"PPO2": {"coinrun": 8.9}}}
    assert list(entry_row({"game": "coinrun", **row}, theirs).values()) == cells
