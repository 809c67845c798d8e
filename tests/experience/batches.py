"""Random batches like those of a replay."""

import dataclasses

import numpy as np

from retro_agents.experience.replay import Batch


def random_batch(seed=0, **fields):
    """Random transitions. fields: values that replace the random ones."""
    rng, size = np.random.default_rng(seed), 6
    batch = Batch(
        obs=rng.integers(256, size=(size, 4, 36, 36), dtype=np.uint8),
        actions=rng.integers(7, size=size),
        returns=rng.normal(size=size).astype(np.float32),
        next_obs=rng.integers(256, size=(size, 4, 36, 36), dtype=np.uint8),
        discounts=np.where(rng.random(size) < 0.3, 0.0, 0.97).astype(np.float32),
        weights=rng.random(size).astype(np.float32),
        indices=np.arange(size),
    )
    return dataclasses.replace(batch, **fields)
