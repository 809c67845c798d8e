"""Sequences of random numbers, to learn from and to remember."""

import numpy as np

from impala.memory import Sequences


def sequences(count, *, steps=5, image=(6, 6, 4), state=0, actions=7, version=0, seed=0):
    """`count` sequences in which episodes end, some of them cut."""
    rng = np.random.default_rng(seed)
    starts = np.zeros((steps + 1, count), bool)
    terminated, truncated = rng.random((2, steps, count)) < 0.2
    starts[1:] = ended = terminated | truncated
    cut_at = np.argwhere(truncated & ~terminated)
    return Sequences(
        obs=rng.integers(256, size=(steps + 1, count, *image), dtype=np.uint8),
        starts=starts,
        states=rng.normal(size=(count, state)).astype(np.float32),
        actions=rng.integers(actions, size=(steps, count)),
        logp=rng.normal(-2.0, 0.5, size=(steps, count)).astype(np.float32),
        rewards=rng.normal(size=(steps, count)).astype(np.float32),
        terminated=terminated,
        ended=ended,
        cut_at=cut_at,
        cut_obs=rng.integers(256, size=(len(cut_at), *image), dtype=np.uint8),
        versions=np.full(count, version),
    )
