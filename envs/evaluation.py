"""How good an agent is on levels it learns on and on others: whole episodes, apart from its run."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from envs.contract import VectorEnv, ended_episodes, row_seeds
from envs.families import level_names, level_sets, make
from experiment.package import Actions, Policy
from experiment.seeding import aside

SIDE_BY_SIDE = 64
Act = Callable[..., Actions]
"""Called with observations [N,C,H,W] and, by name, `starts` [N], as `Policy.act`."""


def play_episodes(
    act: Act, envs: VectorEnv, *, episodes: int, seed: int, patience: int = 0
) -> list[dict[str, Any]]:
    """Whole episodes, row by row: as many of each environment, since those that end first would be
    the short ones. episodes: a multiple of the environments. patience: agent steps without a new
    highest return after which one is cut, where `resets_rows`; 0: never."""
    each = episodes // envs.num_envs
    assert each * envs.num_envs == episodes > 0, "as many episodes of each environment"
    assert envs.resets_rows or not patience, "these rows cannot be cut"
    found: list[list[dict[str, Any]]] = [[] for _ in range(envs.num_envs)]
    obs, _ = envs.reset(seed=seed)
    starts = np.ones(envs.num_envs, bool)
    total, highest, idle = np.zeros((3, envs.num_envs))
    while min(map(len, found)) < each:
        obs, rewards, terminated, truncated, infos = envs.step(act(obs, starts=starts))
        starts, ended = terminated | truncated, ended_episodes(infos)
        if patience:
            total += rewards
            idle = np.where(total > highest, 0, idle + 1)
            highest = np.maximum(highest, total)
            cut = (idle >= patience) & ~starts
            if cut.any():
                obs, infos = envs.reset(options={"reset_mask": cut})
                starts, ended = starts | cut, ended + ended_episodes(infos)
            total[starts] = highest[starts] = idle[starts] = 0
        for episode in ended:
            found[episode["env"]].append(episode)
    return [episode for row in found for episode in row[:each]]


def side_by_side(episodes: int, *, most: int = SIDE_BY_SIDE) -> int:
    """The most environments, up to `most`, that share so many episodes out evenly."""
    return max(count for count in range(1, max(most, 1) + 1) if episodes % count == 0)


def evaluate(
    policy: Policy, levels: str, settings: Any, *, episodes: int, seed: int
) -> dict[str, list[dict[str, Any]]]:
    """Play so many episodes of each game of a specification -> name -> its episodes."""
    found = {}
    for number, game in enumerate(level_names(levels)):
        count, own = side_by_side(episodes), row_seeds(seed, number + 1)[-1]
        envs = make(game, settings, num_envs=count)
        with closing(envs), aside(own):
            act = partial(policy.act, explore=True)
            found[game] = play_episodes(act, envs, episodes=episodes, seed=own)
    return found


def evaluated(policy: Policy, config: Any, *, env_steps: int) -> dict[str, float]:
    """What an agent's config asks for in `evaluation`, after so many steps -> metrics: of either
    set of levels the mean, least, largest return and the standard deviation."""
    run, asked = config.run, config.evaluation
    metrics: dict[str, float] = {}
    sets = level_sets(run.levels, config.env, test_levels=asked.test_levels)
    for name, settings in sets.items():
        found = evaluate(
            policy,
            run.levels,
            settings,
            episodes=asked.evaluate_episodes,
            seed=run.seed + env_steps,
        )
        metrics |= summary(name, found)
    return metrics


def summary(name: str, found: Mapping[str, list[dict[str, Any]]]) -> dict[str, float]:
    """Numbers of the returns of all games, each named with that set of levels."""
    returns = np.array([episode["r"] for episodes in found.values() for episode in episodes])
    return {
        f"{name}_return": float(returns.mean()),
        f"{name}_min": float(returns.min()),
        f"{name}_max": float(returns.max()),
        f"{name}_std": float(returns.std()),
    }
