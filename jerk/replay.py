"""JERK's best runs as Rainbow's replay has transitions."""

import numpy as np
from numpy.typing import NDArray

from jerk.memory import Runs

GOES_ON, TERMINATED, TRUNCATED, FINAL = 0, 1, 2, 3


def as_replay(runs: Runs, *, scale: float, backtracking: bool) -> dict[str, NDArray]:
    """The runs as the arrays of a Rainbow checkpoint: one ring, whose newest slots are the best.

    A slot holds the newest frame of an observation and what was done there; each run ends with one
    more slot, marked FINAL, for its last observation. scale: factor on the rewards. backtracking:
    they become the increase of the furthest point, as Rainbow's environment has them.
    """
    ordered = sorted(
        (run for found in runs.levels.values() for run in found), key=lambda run: run.value
    )
    frames, actions, rewards, ends, ages = [], [], [], [], []
    for run in ordered:
        length = len(run.actions)
        gains = run.rewards
        if backtracking:
            furthest = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(run.rewards)]))
            gains = np.diff(furthest)
        last = TERMINATED if run.terminated else TRUNCATED
        frames.append(run.frames)
        actions.append(np.append(run.actions, 0))
        rewards.append(np.append(gains * scale, 0.0))
        ends.append(np.array([GOES_ON] * (length - 1) + [last, FINAL]))
        ages.append(np.minimum(np.arange(length + 1), np.iinfo(np.uint16).max))
    end = np.concatenate(ends).astype(np.uint8)
    return {
        "frames": np.concatenate(frames),
        "actions": np.concatenate(actions).astype(np.uint8),
        "rewards": np.concatenate(rewards).astype(np.float32),
        "ends": end,
        "ages": np.concatenate(ages).astype(np.uint16),
        "priorities": np.where(end == FINAL, 0.0, 1.0),
        "heads": np.array([len(end)]),
        "filled": np.array([len(end)]),
        "episode_ages": np.array([0]),
        "max_priority": np.array([1.0]),
    }
