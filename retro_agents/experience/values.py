"""What a rollout's value functions say of it: the states that it reached, and its advantages."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.experience.advantages import explained_variance, generalised_advantages
from retro_agents.experience.collector import Collector

Floats = NDArray[np.float32]


def rollout_advantages(
    collector: Collector, obs: NDArray[np.uint8], rewards: Floats, *, gamma: float, lam: float
) -> tuple[Floats, float]:
    """Returns the advantages [T,N] of the rollout's actions by the first value function, and the
    share of the variance of all processes' returns that it explains. obs: after the rollout.
    rewards: [T,N]."""
    rollout = collector.rollout
    values, reached = _values(collector)[..., 0], next_values(collector, obs)[..., 0]
    ends = rollout.terminated, rollout.ended
    advantages = generalised_advantages(rewards, values, reached, *ends, gamma=gamma, lam=lam)
    everyone = collector.group.gather((values, advantages + values))
    explained = explained_variance(*(np.hstack(parts) for parts in zip(*everyone, strict=True)))
    return advantages, explained


def endless_advantages(
    collector: Collector, obs: NDArray[np.uint8], bonus: Floats, *, gamma: float, lam: float
) -> Floats:
    """The advantages by the second value function, of a bonus [T,N] whose returns go on beyond the
    ends of episodes. Source: Burda et al., arXiv:1810.12894, section 2.3."""
    values, reached = _values(collector)[..., 1], next_values(collector, obs)[..., 1]
    never = np.zeros(bonus.shape, bool)
    return generalised_advantages(bonus, values, reached, never, never, gamma=gamma, lam=lam)


def next_values(collector: Collector, obs: NDArray[np.uint8]) -> Floats:
    """Values [T,N,V] of the states that the steps reached, meaningless where terminated: of the
    first value function before any reset, of a second one after it. obs: after the rollout."""
    rollout = collector.rollout
    rows = np.arange(rollout.num_envs)
    last = _seen(collector, obs, rows, state=collector.state, starts=collector.starts)
    values = np.concatenate([_values(collector)[1:], last[None]])
    if rollout.finals:  # truncated episodes
        steps, envs = (list(where) for where in zip(*rollout.finals, strict=True))
        states = torch.cat([rollout.states[1:], collector.state[None]])[steps, envs]
        goes_on = np.zeros(len(envs), bool)
        finals = np.stack(list(rollout.finals.values()))
        before = _seen(collector, finals, np.array(envs), state=states, starts=goes_on)
        values[steps, envs, 0] = before[:, 0]
    return values


def _values(collector: Collector) -> Floats:
    """The values of the rollout's states, [T,N,V]."""
    rollout = collector.rollout
    return rollout.values.reshape(*rollout.starts.shape, -1).cpu().numpy()


def _seen(
    collector: Collector,
    obs: NDArray[np.uint8],
    rows: NDArray[np.int64],
    *,
    state: Tensor,
    starts: NDArray[np.bool_],
) -> Floats:
    """Values [n,V] of observations [n,C,H,W] of these environments."""
    images, begins = collector.images(obs), collector.on_device(starts)
    _, values, _ = collector.evaluate(images, rows, state=state, starts=begins)
    return values.reshape(len(rows), -1).cpu().numpy()
