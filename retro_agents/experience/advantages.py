"""Advantages of actions, returns, and the share of their variance that values explain.

Letters: T steps, N environments.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.run.distributed import Group

Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]


def generalised_advantages(
    rewards: Floats,
    values: Floats,
    next_values: Floats,
    terminated: Flags,
    ended: Flags,
    *,
    gamma: float,
    lam: float,
) -> NDArray[np.float32]:
    """Generalised advantage estimation, all [T,N] -> advantages [T,N].

    next_values: of the state reached, before any reset; ignored where terminated.
    ended: terminated or truncated. Source: Schulman et al., arXiv:1506.02438, eq. 16.
    Differs: the sum ends at a truncation, after its own bootstrapped difference.
    """
    deltas = rewards + gamma * next_values * ~terminated - values
    decay = gamma * lam * ~ended
    advantages = np.zeros_like(deltas)
    later = np.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        later = advantages[t] = deltas[t] + decay[t] * later
    return advantages.astype(np.float32)


def returns_to_go(rewards: Sequence[float] | Floats, *, gamma: float) -> NDArray[np.float64]:
    """Discounted sums of the rewards from each step on, including that step's: [T] -> [T]."""
    sums, later = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        later = sums[t] = float(rewards[t]) + gamma * later
    return sums


def normalised(advantages: Tensor, group: Group) -> Tensor:
    """Advantages normalised to mean 0 and standard deviation 1 over the whole group."""
    count = advantages.numel() * group.size
    mean = group.sum(advantages.sum()) / count
    variance = group.sum((advantages - mean).square().sum()) / count
    return (advantages - mean) / (variance.sqrt() + 1e-8)


def explained_variance(values: Floats, returns: Floats) -> float:
    """1 − Var(returns − values) / Var(returns): 1 is perfect, 0 no better than the mean."""
    variance = returns.var(dtype=np.float64)
    unexplained = (returns - values).var(dtype=np.float64)
    return float(1.0 - unexplained / variance) if variance > 0.0 else 0.0
