"""Embeddings like those of play: a walk through a smooth world, seen by a layer of ReLUs."""

import numpy as np
import pytest


@pytest.fixture
def walk():
    def make(steps, features=64, *, seed=0):
        world = np.random.default_rng(99).normal(size=(8, features))  # one for all walks
        rng = np.random.default_rng(seed)
        places = np.cumsum(rng.normal(size=(steps, 8)) * 0.1, axis=0)
        places = np.concatenate([np.sin(places), np.cos(places)], axis=1)[:, ::2]
        return np.maximum(places @ world, 0.0).astype(np.float32)

    return make
