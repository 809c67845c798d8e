"""Where a search loses points, and how its score grew, from a run's episodes.csv.

Columns: step, level, r (return), kind. Every level has equal weight.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import LARGEST_RETURN

POINTS = 10
"""Number of points of a curve, evenly spaced over the steps."""
Columns = Mapping[str, NDArray[Any]]


def lost(columns: Columns) -> dict[str, float]:
    """The points that episodes lack to the highest return, in three parts: mean over episodes [N]
    and levels.

    undiscovered: the highest return less the largest one so far, including the episode's own;
    replaying, exploring: the rest, in an episode that replays and in any other one.
    """
    parts = []
    for here in by_level(columns):
        returns = columns["r"][here]
        known = np.maximum.accumulate(returns)
        replays = columns["kind"][here] == "replay"
        below = known - returns
        parts.append([LARGEST_RETURN - known, below * replays, below * ~replays])
    means = np.mean([np.mean(part, axis=1) for part in parts], axis=0)
    return dict(zip(("undiscovered", "replaying", "exploring"), means.tolist(), strict=True))


def grown(columns: Columns, steps: int) -> list[float]:
    """The score so far after each tenth of the steps [POINTS]: mean return of the ended episodes,
    mean over levels; nan until every level has one."""
    curves = []
    for here in by_level(columns):
        ends, returns = columns["step"][here], columns["r"][here]
        sums = np.concatenate([[0.0], np.cumsum(returns)])
        ended = np.searchsorted(ends, steps * np.arange(1, POINTS + 1) / POINTS, side="right")
        curves.append(np.where(ended, sums[ended] / np.maximum(1, ended), np.nan))
    return np.mean(curves, axis=0).tolist()


def by_level(columns: Columns) -> list[NDArray[np.intp]]:
    """Indices of each level's rows, in order. Procgen has nearly as many levels as episodes."""
    _, numbers, counts = np.unique(columns["level"], return_inverse=True, return_counts=True)
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(counts)[:-1])
