"""Evaluations and tests of sight while an agent learns: whole episodes, apart from its run."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from retro_agents.contract.envs import row_seeds
from retro_agents.contract.episodes import even_rows, play_episodes
from retro_agents.contract.policy import Play, Policy
from retro_agents.games.families import (
    level_names,
    level_sets,
    make,
    normalised_scores,
    of_procgen,
)
from retro_agents.ground.seeding import aside
from retro_agents.judging.sight import PATIENCE, PLAYS, ROWS, measure
from retro_agents.run.run import Run


def evaluate(
    policy: Policy,
    levels: str,
    settings: Any,
    *,
    episodes: int,
    seed: int,
    play: Play | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Play `episodes` episodes of a specification's levels, or of each of its games of Procgen ->
    {name: its episodes}. play: as for `Policy.act`."""
    found = {}
    for number, game in enumerate(level_names(levels) if of_procgen(levels) else [levels]):
        count, own = even_rows(episodes), row_seeds(seed, number + 1)[-1]
        envs = make(game, settings, num_envs=count)
        with closing(envs), aside(own):
            act = partial(policy.act, play=play)
            found[game] = play_episodes(act, envs, episodes=episodes, seed=own, patience=PATIENCE)
    return found


def judged(run: Run) -> dict[str, float]:
    """The metrics that a run's config asks for in `evaluation` and that are due now."""
    policy, config, env_steps = run.training.agent, run.training.config, run.training.env_steps
    metrics: dict[str, float] = {}
    if run.due(config.evaluation.evaluate_every):
        metrics |= evaluated(policy, config, env_steps=env_steps)
    if run.due(config.evaluation.sight_every):
        metrics |= seen(policy, config, env_steps=env_steps)
    return metrics


def evaluated(policy: Policy, config: Any, *, env_steps: int) -> dict[str, float]:
    """The metrics of an evaluation after `env_steps` steps: the `summary` of each set of levels
    that the config asks for in `evaluation`."""
    run, asked, seed = config.run, config.evaluation, config.run.seed + env_steps
    metrics: dict[str, float] = {}
    sets = level_sets(run.levels, config.env, test_levels=asked.test_levels)
    for name, (levels, settings) in sets.items():
        found = evaluate(policy, levels, settings, episodes=asked.evaluate_episodes, seed=seed)
        metrics |= summary(name, found, settings)
    return metrics


def seen(policy: Policy, config: Any, *, env_steps: int) -> dict[str, float]:
    """A test of sight on the run's levels, acting stochastically -> each play's mean return."""
    run, episodes = config.run, config.evaluation.sight_episodes
    seed = run.seed + env_steps
    rows = even_rows(episodes, most=ROWS)
    envs = partial(make, run.levels, config.env, num_envs=rows)
    with aside(seed):
        sight = measure(policy, envs, episodes=episodes, seed=seed, play="draw", patience=PATIENCE)
    return {f"sight/{name}": float(sight.returns(name).mean()) for name in PLAYS}


def summary(
    name: str, found: Mapping[str, list[dict[str, Any]]], settings: Any
) -> dict[str, float]:
    """Statistics of the returns on a set of levels, named after it: mean, minimum, maximum and
    standard deviation of all episodes; the mean of each game if there are several; and, if the
    family has score ranges, the mean normalised score over games."""
    each = {game: [episode["r"] for episode in episodes] for game, episodes in found.items()}
    returns = np.concatenate([*each.values()])
    metrics = {
        f"{name}_return": float(returns.mean()),
        f"{name}_min": float(returns.min()),
        f"{name}_max": float(returns.max()),
        f"{name}_std": float(returns.std()),
    }
    means = {game: float(np.mean(own)) for game, own in each.items()}
    if len(means) > 1:
        metrics |= {f"{name}_return/{game.rpartition(':')[2]}": r for game, r in means.items()}
    scores = [normalised_scores(game, settings, mean) for game, mean in means.items()]
    for kind in scores[0]:
        metrics[f"{name}_normalised_{kind}"] = float(np.mean([score[kind] for score in scores]))
    return metrics
