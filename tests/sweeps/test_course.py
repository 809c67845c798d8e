"""The course's unit against a slow sum by hand, and what its page says."""

import math

import numpy as np

from sweeps.course import GAMMA, evaluate, method

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


def test_methods_are_named_as_in_the_courses_table():
    assert method("ppo2", {}) == "PPO"
    penalised = {"update": "penalty", "penalty": 0.25, "critic": "untrained"}
    assert method("trpo", penalised) == "penalty 0.25"
    assert method("trpo", {**penalised, "critic": "apart"}) == "penalty 0.25, critic trained"
    assert method("trpo", {"update": "natural", "max_kl": 0.01}) == "TRPO, KL 0.01"
