"""Scales rewards of any size to one that nets can learn from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.run.distributed import Group

LIMIT = 10.0
"""Scaled rewards are clipped at ± this."""


class ReturnScale:
    """Divides rewards by the running standard deviation of their discounted sum.

    The sum R ← γR + r runs within episodes; its moments are over all steps so far of all processes.
    Source: openai/baselines, VecNormalize. Differs: the moments are updated once per rollout,
    before it is scaled.
    """

    def __init__(self, num_envs: int, *, gamma: float) -> None:
        self.gamma = gamma
        self.sums = np.zeros(num_envs)
        self.moments = np.array([0.0, 0.0, 0.0])  # count, mean, sum of squared distances from it

    def __call__(
        self, rewards: NDArray[np.floating], ended: NDArray[np.bool_], group: Group
    ) -> NDArray[np.float32]:
        """Scales rewards, and clips them at ± LIMIT. rewards, ended [T,N] -> [T,N]."""
        seen = np.zeros(rewards.shape)
        for t in range(len(rewards)):
            self.sums = seen[t] = self.gamma * self.sums + rewards[t]
            self.sums = np.where(ended[t], 0.0, self.sums)
        for moments in group.gather(moments_of(seen)):
            self.moments = merged(self.moments, moments)
        scaled = rewards / self.deviation
        return scaled.clip(-LIMIT, LIMIT).astype(np.float32)

    @property
    def deviation(self) -> float:
        """The standard deviation of the discounted sums so far."""
        count, _, squares = self.moments
        return float(np.sqrt(squares / count + 1e-8))

    def restore(self, moments: list[float], sums: list[float]) -> None:
        """Restore the moments, which all processes share, and this process's sums. Raises
        ValueError for other numbers of them."""
        self.moments = np.array(moments, np.float64).reshape(self.moments.shape)
        self.sums = np.array(sums, np.float64).reshape(self.sums.shape)


def moments_of(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Count, mean, and sum of squared distances from the mean."""
    mean = values.mean()
    return np.array([values.size, mean, np.square(values - mean).sum()])


def merged(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """The moments of two sets together. Source: Chan, Golub and LeVeque 1979."""
    count = one[0] + other[0]
    apart = other[1] - one[1]
    mean = one[1] + apart * other[0] / count
    squares = one[2] + other[2] + apart**2 * one[0] * other[0] / count
    return np.array([count, mean, squares])
