"""Embeddings like those of play: a walk through a smooth world, seen by a layer of ReLUs."""

from collections.abc import Callable

import numpy as np
import pytest


@pytest.fixture
def walk() -> Callable[..., np.ndarray]:
    def make(steps: int, features: int = 64, *, seed: int = 0) -> np.ndarray:
        world = np.random.default_rng(99).normal(size=(8, features))  # one for all walks
        rng = np.random.default_rng(seed)
        places = np.cumsum(rng.normal(size=(steps, 8)) * 0.1, axis=0)
        places = np.concatenate([np.sin(places), np.cos(places)], axis=1)[:, ::2]
        return np.maximum(places @ world, 0.0).astype(np.float32)

    return make
