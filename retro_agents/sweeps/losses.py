"""Where the points of a search are lost, and how its score grew, from a run's episodes.csv.

Columns: step, level, r (return), kind. Each level counts alike.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 10_000.0
"""The most that a level gives."""
POINTS = 10
"""Of a curve, evenly over the steps."""
Columns = Mapping[str, NDArray[Any]]


def lost(columns: Columns) -> dict[str, float]:
    """What an episode lacks of the most, in three parts, mean over episodes [N] and levels.

    undiscovered: the most less the largest return so far, its own included; replaying, exploring:
    what its return is below that, in an episode that replays, and in any other.
    """
    parts = []
    for here in by_level(columns):
        returns = columns["r"][here]
        known = np.maximum.accumulate(returns)
        replays = columns["kind"][here] == "replay"
        below = known - returns
        parts.append([MOST - known, below * replays, below * ~replays])
    means = np.mean([np.mean(part, axis=1) for part in parts], axis=0)
    return dict(zip(("undiscovered", "replaying", "exploring"), means.tolist(), strict=True))


def grown(columns: Columns, steps: int) -> list[float]:
    """The score so far after each tenth of the steps [POINTS]: mean return of the episodes that had
    ended, mean over levels; nan where on one of them none had."""
    curves = []
    for here in by_level(columns):
        ends, returns = columns["step"][here], columns["r"][here]
        sums = np.concatenate([[0.0], np.cumsum(returns)])
        ended = np.searchsorted(ends, steps * np.arange(1, POINTS + 1) / POINTS, side="right")
        curves.append(np.where(ended, sums[ended] / np.maximum(1, ended), np.nan))
    return np.mean(curves, axis=0).tolist()


def by_level(columns: Columns) -> list[NDArray[np.intp]]:
    """Places of each level's rows, in order. Procgen has nearly as many levels as episodes."""
    _, numbers, counts = np.unique(columns["level"], return_inverse=True, return_counts=True)
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(counts)[:-1])
