"""Advantages of nets with two value functions."""

from types import SimpleNamespace

import numpy as np
import torch

from retro_agents.experience import values


def test_the_rewards_advantages_come_from_the_first_value_function_alone(monkeypatch):
    rng = np.random.default_rng(0)
    seen, reached = rng.normal(size=(2, 5, 3, 2)).astype(np.float32)
    ends = np.zeros((5, 3), bool)

    def advantages(chosen):
        shown = torch.from_numpy(seen[chosen])
        rollout = SimpleNamespace(values=shown, starts=ends, terminated=ends, ended=ends)
        group = SimpleNamespace(gather=lambda mine: [mine])
        monkeypatch.setattr(values, "next_values", lambda *_: reached[chosen])
        collector = SimpleNamespace(rollout=rollout, group=group)
        return values.rollout_advantages(collector, None, np.ones((5, 3)), gamma=0.9, lam=0.8)

    both, first = advantages(np.s_[...]), advantages(np.s_[..., :1])
    np.testing.assert_array_equal(both[0], first[0])
    assert both[1] == first[1]


def test_a_truncated_episode_goes_on_for_the_first_value_function_alone(monkeypatch):
    rollout = SimpleNamespace(
        num_envs=1,
        values=torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]),
        states=torch.zeros(2, 1, 0),
        starts=np.zeros((2, 1), bool),
        finals={(0, 0): np.zeros((1, 2, 2), np.uint8)},  # of the first step
    )
    zeros = torch.zeros(1, 0)
    collector = SimpleNamespace(rollout=rollout, state=zeros, starts=np.zeros(1, bool))
    after, before = np.array([[5.0, 6.0]]), np.array([[7.0, 8.0]])
    seen = iter([after, before])
    monkeypatch.setattr(values, "_seen", lambda *_, **__: next(seen))
    reached = values.next_values(collector, None)
    np.testing.assert_array_equal(reached, [[[7.0, 4.0]], [[5.0, 6.0]]])
