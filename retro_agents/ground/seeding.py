"""Seeds and states of the global random number generators, for exact resumption."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def seed_everything(seed: int) -> None:
    """Seeds the generators of Python, NumPy (the global one) and torch (CPU and every GPU)."""
    import torch  # slow to import

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  libraries still draw from it
    torch.manual_seed(seed)


def rng_state() -> dict[str, Any]:
    """Returns the states of the generators that `seed_everything` seeds, for msgpack."""
    import torch

    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": torch.get_rng_state().numpy().tobytes(),
        "cuda": [state.numpy().tobytes() for state in cuda],
    }


def set_rng_state(state: dict[str, Any]) -> None:
    """Restores the states from `rng_state`; those of missing CUDA devices are ignored."""
    import torch

    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = state["numpy"]
    words32 = np.asarray(keys, dtype=np.uint32)
    np.random.set_state((name, words32, position, has_gauss, cached))  # noqa: NPY002
    torch.set_rng_state(_bytes_tensor(state["torch"]))
    if torch.cuda.is_available():
        for device, saved in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(_bytes_tensor(saved), device)


@contextmanager
def aside(seed: int) -> Iterator[None]:
    """Seeds the generators for the block, and restores their states afterwards."""
    state = rng_state()
    seed_everything(seed)
    try:
        yield
    finally:
        set_rng_state(state)


def _bytes_tensor(data: bytes) -> Any:
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
