"""Reports a test of sight: returns with the agent's own frames, with others' and blind.

Every level has equal weight. Intervals are over episodes: the k-th episodes of all levels are one
sample; means have Student's t interval, differences Welch's.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from retro_agents.contract.envs import CONTEST_RETURNS
from retro_agents.contract.episodes import even_rows
from retro_agents.contract.policy import Play, Policy, ScoringPolicy
from retro_agents.games.families import make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground import statistics
from retro_agents.ground.errors import UserError
from retro_agents.ground.statistics import Runs
from retro_agents.judging.score import interval_text
from retro_agents.judging.sight import PLAYS, ROWS, Sight, measure
from retro_agents.judging.tables import terminal_table

WAYS: dict[str, Play] = {"as it learns": "draw", "best action": "best"}
"""Way of acting -> `play`, of `Policy.act`."""


def sight_of(
    policy: Policy,
    levels: Sequence[str],
    settings: EnvConfig,
    *,
    episodes: int,
    **options: Any,
) -> dict[str, Any]:
    """The results of both ways of acting, for result.json. episodes: per level. options: of
    `retro_agents.judging.sight.measure`."""
    test = partial(tested, policy, levels, settings, episodes=episodes, **options)
    names = settings.spec().action_names
    return {way: numbers_of(test(play=how), levels, names) for way, how in WAYS.items()}


def tested(
    policy: Policy, levels: Sequence[str], settings: EnvConfig, *, episodes: int, **options: Any
) -> Sight:
    """A test on levels, dealt in turn to as many rows as possible. episodes: per level. options: of
    `retro_agents.judging.sight.measure`."""
    envs = partial(make, ",".join(levels), settings, num_envs=rows_of(len(levels), episodes))
    return measure(policy, envs, episodes=episodes * len(levels), **options)


def rows_of(levels: int, episodes: int) -> int:
    """Number of environments that play so many episodes on each level."""
    return levels * even_rows(episodes, most=ROWS // levels)


def check_testable(policy: Policy, name: str, *, levels: int, episodes: int) -> None:
    """Raises UserError if the agent chooses by its level and not by frames, or if there are too few
    episodes per level."""
    if not isinstance(policy, ScoringPolicy):
        raise UserError(
            f"{name} has no net that acts on what it sees, so there is no sight to test: give "
            "a checkpoint of an agent that has one, such as rainbow or ppo2"
        )
    if episodes < 2:
        raise UserError("a test of sight has intervals over episodes: give --episodes 2 or more")
    if rows_of(levels, episodes) < 2:
        raise UserError(
            f"a test of sight shows rows the frames of others, and {episodes} episodes make one "
            f"row here: give more levels, or a number that one of 2 to {ROWS} divides"
        )


def numbers_of(sight: Sight, levels: Sequence[str], action_names: Sequence[str]) -> dict[str, Any]:
    """A test's numbers, for rows to which the levels were dealt in turn."""
    runs = {name: by_level(sight.returns(name), levels) for name in PLAYS}
    samples = {name: statistics.seed_means(of) for name, of in runs.items()}
    plays: dict[str, dict[str, Any]] = {}
    for name in PLAYS:
        low, high = statistics.t_interval(samples[name], within=CONTEST_RETURNS)
        plays[name] = {"mean": statistics.mean(runs[name]), "low": low, "high": high}
        plays[name]["levels"] = {level: [*row.values()] for level, row in runs[name].items()}
    own = plays["seeing"]["mean"]
    for name in PLAYS[1:]:
        low, high = statistics.welch_interval(
            samples["seeing"], samples[name], within=CONTEST_RETURNS
        )
        plays[name]["gain"] = {"mean": own - plays[name]["mean"], "low": low, "high": high}
    return {
        **plays,
        "sees": all(plays[name]["gain"]["low"] > 0.0 for name in PLAYS[1:]),
        "frequencies": dict(zip(action_names, sight.frequencies.tolist(), strict=True)),
    }


def by_level(returns: NDArray[np.float64], levels: Sequence[str]) -> Runs:
    """Returns [N,K] of rows to which the levels were dealt in turn -> level -> number of the
    episode -> its return."""
    return {
        level: dict(enumerate(returns[number :: len(levels)].ravel().tolist()))
        for number, level in enumerate(levels)
    }


def sight_table(found: Mapping[str, Any], *, title: str) -> Table:
    """A rich table with a row for each way of acting and play. gain: what seeing adds."""
    rows = list[list[str]]()
    for way, plays in found.items():
        for play in PLAYS:
            row = plays[play]
            cells = [f"{row['mean']:,.0f}", interval_text((row["low"], row["high"]))]
            if gain := row.get("gain"):
                cells += [f"{gain['mean']:+,.0f}", interval_text((gain["low"], gain["high"]))]
            rows.append([way if play == "seeing" else "", play, *cells])
        rows.append([])
    head = ["", "pictures", "mean", "95 %", "gain", "95 %"]
    return terminal_table(head, rows, title=title, left=2)


def verdict(found: Mapping[str, Any], name: str) -> str:
    """One line on whether the agent uses what it sees."""
    words = {True: "it uses what it sees", False: "not shown to use what it sees"}
    said = "; ".join(f"{way}, {words[plays['sees']]}" for way, plays in found.items())
    return f"{name}: {said}."
