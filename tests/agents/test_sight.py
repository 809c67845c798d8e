"""Tests of sight during the runs of every agent that offers them."""

import dataclasses

import numpy as np
import pytest

from retro_agents.judging.sight import PLAYS
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import AGENTS, train

LOOKERS = [
    agent
    for agent in AGENTS
    if "evaluation" in {field.name for field in dataclasses.fields(find(agent).Config)}
]


@pytest.mark.parametrize("agent", LOOKERS)
def test_a_run_is_the_same_with_and_without_tests_of_sight(agent, tmp_path):
    tested = ["--sight-every", "20", "--sight-episodes", "2", "--episode-steps", "12"]
    train(agent, tmp_path / "with", *tested)
    train(agent, tmp_path / "without", "--episode-steps", "12")
    ours, plain = (read_columns(tmp_path / name / "metrics.csv") for name in ("with", "without"))
    figures = np.array([ours.pop(f"sight/{play}") for play in PLAYS])
    times = np.isfinite(figures).all(axis=0)
    assert times.sum() == 3 and np.isnan(figures[:, ~times]).all()
    assert {int(step // 20) for step in ours["step"][times]} == {1, 2, 3}
    assert ours.keys() == plain.keys()
    for name, column in plain.items():
        np.testing.assert_array_equal(ours[name], column)
    saved = [load_checkpoint(tmp_path / name) for name in ("with", "without")]
    assert saved[0].state == saved[1].state and saved[0].counters == saved[1].counters
    for group, tensors in saved[0].tensors.items():
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(tensor, saved[1].tensors[group][name])


def test_there_are_such_agents():
    assert {"ppo2", "rainbow", "sac"} <= set(LOOKERS)
