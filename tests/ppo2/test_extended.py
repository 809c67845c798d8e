"""A package of one's own that adds a term to PPO2's loss; docs/contribute/one-part.md shows it."""

import importlib
from pathlib import Path

import pytest

from retro_agents.run.checkpoint import load_agent
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import words
from tests.runs import assert_same_run


@pytest.fixture
def train(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent / "extended")
    return importlib.import_module("steady.train").main


def test_an_extended_agent_learns_by_its_own_loss_and_is_resumed_and_loaded(train, tmp_path):
    whole, parts, without = (tmp_path / name for name in ("whole", "parts", "without"))
    train([*words("ppo2", "--run-dir", whole, "--steadiness", "1e6")])
    train([*words("ppo2", "--run-dir", parts, "--steadiness", "1e6", "--timesteps", "24")])
    train(["--run-dir", str(parts), "--resume", "--timesteps", "60"])
    assert_same_run(whole, parts)
    train([*words("ppo2", "--run-dir", without, "--steadiness", "0")])
    ends = [read_columns(folder / "metrics.csv")["divergence"][-1] for folder in (whole, without)]
    assert 0.0 < ends[0] < ends[1]
    agent = load_agent(whole)
    assert type(agent).__name__ == "SteadyAgent" and agent.config.steadiness == 1e6
