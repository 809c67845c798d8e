"""Who plays."""

from types import SimpleNamespace

import numpy as np
import pytest

from contest.agents import Agent, load_policy
from experiment.errors import UserError
from retro_env import EnvConfig


def test_agent_without_chance_cannot_explore(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SimpleNamespace(act=lambda obs: np.zeros(len(obs), np.int64), config=EnvConfig())
    monkeypatch.setattr("contest.agents.load_agent", lambda *_, **__: plain)
    actor, _ = load_policy(Agent("jerk", "somewhere", "frozen", "cpu"), seed=0)
    assert actor.policy is plain
    with pytest.raises(UserError, match="give --mode frozen"):
        load_policy(Agent("jerk", "somewhere", "explore", "cpu"), seed=0)
