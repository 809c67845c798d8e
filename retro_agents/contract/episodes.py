"""Whole episodes of a fixed policy in parallel environments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from retro_agents.contract.envs import VectorEnv, ended_episodes
from retro_agents.contract.policy import Actions, Images

SIDE_BY_SIDE = 64
Act = Callable[..., Actions]
"""Takes observations [N,C,H,W] and the keyword `starts` [N], as `Policy.act` does."""


class Random:
    """A policy that draws every action with the same probability at every step."""

    config = None

    def __init__(self, actions: int, *, seed: int = 0) -> None:
        self.actions, self.rng = actions, np.random.default_rng(seed)

    def act(self, obs: Images, **_: Any) -> Actions:
        """Draws an action per row. obs [N,…] -> actions [N]."""
        return self.rng.integers(self.actions, size=len(obs))


def play_episodes(
    act: Act, envs: VectorEnv, *, episodes: int, seed: int, patience: int = 0
) -> list[dict[str, Any]]:
    """Plays whole episodes and returns them row by row. Each environment plays equally many, since
    the first to end would be the short ones. episodes: a multiple of the environments. patience:
    agent steps without a new highest return that cut an episode, where `resets_rows`; 0: never."""
    each = episodes // envs.num_envs
    assert each * envs.num_envs == episodes > 0, "not equally many episodes per environment"
    by_row: list[list[dict[str, Any]]] = [[] for _ in range(envs.num_envs)]
    obs, _ = envs.reset(seed=seed)
    starts = np.ones(envs.num_envs, bool)
    total, highest, idle = np.zeros((3, envs.num_envs))
    while min(map(len, by_row)) < each:
        obs, rewards, terminated, truncated, infos = envs.step(act(obs, starts=starts))
        starts, ended = terminated | truncated, ended_episodes(infos)
        if patience and envs.resets_rows:
            total += rewards
            idle = np.where(total > highest, 0, idle + 1)
            highest = np.maximum(highest, total)
            cut = (idle >= patience) & ~starts
            if cut.any():
                obs, infos = envs.reset(options={"reset_mask": cut})
                starts, ended = starts | cut, ended + ended_episodes(infos)
            total[starts] = highest[starts] = idle[starts] = 0
        for episode in ended:
            by_row[episode["env"]].append(episode)
    return [episode for row in by_row for episode in row[:each]]


def even_rows(episodes: int, *, most: int = SIDE_BY_SIDE) -> int:
    """Returns the largest number of environments, up to `most`, that divides `episodes`."""
    return max(count for count in range(1, max(most, 1) + 1) if episodes % count == 0)
