"""The contest's score: the mean return of all episodes of a run, with its 95 % interval."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from retro_agents.contract.envs import CONTEST_RETURNS, VectorEnv, ended_episodes
from retro_agents.contract.policy import Play, Policy
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import why_no_run
from retro_agents.ground.statistics import Interval, t_interval
from retro_agents.judging.tables import terminal_table
from retro_agents.run.metrics import rows_of

COLUMNS = ("mean return", "95 % interval", "best", "episodes", "finished")


@final
@dataclasses.dataclass(frozen=True)
class Episode:
    """One episode under the contest's rules. `complete`: not cut off by the end of the run."""

    level: str
    r: float
    """Return in contest reward, up to 10,000."""
    l: int  # noqa: E741  the contest's own name
    """Length in agent steps."""
    progress: float
    """Furthest position in the level, 0 to 1."""
    finished: bool
    complete: bool = True


@final
@dataclasses.dataclass(frozen=True)
class Score:
    """A run's row in a table."""

    label: str
    mean: float
    """Mean return of all episodes, including the unfinished last one: the contest's score."""
    low: float
    high: float
    """95 % interval of the mean over episodes (Student's t); nan for fewer than two episodes."""
    best: float
    episodes: int
    finished: int
    """Episodes that reached the level's end."""
    steps: int
    """Total agent steps of all episodes."""


def steps_of(
    policy: Policy, envs: VectorEnv, *, seed: int | None = None, play: Play | None = None
) -> Iterator[list[dict[str, Any]]]:
    """Let `policy` play indefinitely -> after each vector step, the episodes that it ended."""
    obs, _ = envs.reset(seed=seed)
    starts = np.ones(envs.num_envs, bool)
    while True:
        actions = policy.act(obs, play=play, starts=starts)
        obs, _, terminated, truncated, infos = envs.step(actions)
        starts = terminated | truncated
        yield ended_episodes(infos)


def unfinished_episodes(envs: VectorEnv) -> list[Episode]:
    """The current episodes with their returns so far; this ends them."""
    _, infos = envs.reset()
    cut = map(as_episode, ended_episodes(infos))
    return [dataclasses.replace(episode, complete=False) for episode in cut]


def as_episode(found: dict[str, Any]) -> Episode:
    """An episode from what an environment or a run's file reports."""
    return Episode(
        level=str(found["level"]),
        r=float(found["r"]),
        l=int(found["l"]),
        progress=float(found["progress"]),
        finished=bool(found["finished"]),
    )


def episode_columns(run_dir: Path | str) -> dict[str, NDArray[Any]]:
    """The columns of a run's episodes.csv; {} if no episode has ended.

    Raises UserError if it is no run folder.
    """
    path = Path(run_dir) / "episodes.csv"
    if not path.is_file():
        why = why_no_run(path.parent) or "no episodes.csv in it"
        raise UserError(f"{run_dir} is not a run folder: {why}")
    return rows_of(path)


def read_episodes(run_dir: Path | str) -> list[Episode]:
    """The ended episodes of a run. Raises UserError if it is no run folder."""
    columns = episode_columns(run_dir)
    rows = zip(*columns.values(), strict=True)
    return [as_episode(dict(zip(columns, row, strict=True))) for row in rows]


def score(label: str, episodes: Sequence[Episode]) -> Score:
    """The contest's score of a run's episodes. Raises UserError if there are none."""
    if not episodes:
        raise UserError(f"{label}: no episode was played; give more steps")
    returns = np.array([episode.r for episode in episodes])
    low, high = t_interval(returns, within=CONTEST_RETURNS)
    return Score(
        label=label,
        mean=float(returns.mean()),
        low=low,
        high=high,
        best=float(returns.max()),
        episodes=len(episodes),
        finished=sum(episode.finished for episode in episodes),
        steps=sum(episode.l for episode in episodes),
    )


def interval_text(interval: Interval | None, *, digits: int = 0) -> str:
    """ "low – high", or a dash if there is no interval: None or nan."""
    if interval is None or math.isnan(interval[0]):
        return "–"
    return " – ".join(f"{end:,.{digits}f}" for end in interval)


def score_table(scores: Sequence[Score], *, title: str = "") -> Table:
    """One row per score, in the given order, as a rich table."""
    rows = []
    for row in scores:
        interval = interval_text((row.low, row.high))
        counts = (f"{row.best:,.0f}", f"{row.episodes:,}", f"{row.finished:,}")
        rows.append([row.label, f"{row.mean:,.0f}", interval, *counts])
    return terminal_table(["", *COLUMNS], rows, title=title)


def shown_names(levels: Iterable[str]) -> dict[str, str]:
    """GAME:STATE -> STATE, or GAME:STATE if two games have a state of that name."""
    states = {name: name.rpartition(":")[2] for name in levels}
    count = Counter(states.values())
    return {name: state if count[state] == 1 else name for name, state in states.items()}
