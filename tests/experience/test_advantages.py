import numpy as np
import pytest
import torch

from retro_agents.experience.advantages import (
    explained_variance,
    generalised_advantages,
    normalised,
    returns_to_go,
)
from retro_agents.run.distributed import Group


def slow_advantage(t, n, *, rewards, values, next_values, terminated, ended, gamma, lam):
    """The sum of the paper's equation 16, to the end of the episode or of the rollout."""
    total, k = 0.0, 0
    while True:
        bootstrap = 0.0 if terminated[t + k, n] else next_values[t + k, n]
        delta = rewards[t + k, n] + gamma * bootstrap - values[t + k, n]
        total += (gamma * lam) ** k * delta
        if ended[t + k, n] or t + k + 1 == len(rewards):
            return total
        k += 1


@pytest.mark.parametrize(("gamma", "lam"), [(0.99, 0.95), (0.9, 0.0), (1.0, 1.0)])
def test_advantages_equal_the_papers_sum(gamma, lam):
    rng = np.random.default_rng(0)
    rewards, values, next_values = rng.normal(size=(3, 40, 5))
    terminated, truncated = rng.random((2, 40, 5)) < 0.1
    case = {
        "rewards": rewards,
        "values": values,
        "next_values": next_values,
        "terminated": terminated,
        "ended": terminated | truncated,
    }
    found = generalised_advantages(**case, gamma=gamma, lam=lam)
    expected = [
        [slow_advantage(t, n, **case, gamma=gamma, lam=lam) for n in range(5)] for t in range(40)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_explained_variance_and_normalised_advantages_follow_their_definitions():
    returns = np.array([1.0, 2.0, 3.0, 6.0])
    assert explained_variance(returns, returns) == 1.0
    assert explained_variance(np.full(4, 3.0), returns) == 0.0
    assert explained_variance(returns + 5.0, returns) == 1.0  # a constant error explains as much
    assert explained_variance(np.ones(4), np.zeros(4)) == 0.0
    x = torch.tensor([[1.0, 2.0], [3.0, 10.0]])
    found = normalised(x, Group())
    expected = (x.numpy() - 4.0) / x.numpy().std()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_returns_to_go_look_forward():
    np.testing.assert_allclose(returns_to_go([1.0, 0.0, 2.0], gamma=0.5), [1.5, 1.0, 2.0])
    np.testing.assert_allclose(returns_to_go([1.0, 0.0, 2.0], gamma=1.0), [3.0, 2.0, 2.0])
    assert len(returns_to_go([], gamma=0.9)) == 0
