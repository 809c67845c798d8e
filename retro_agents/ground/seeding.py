"""Seeds, and the states of the global random number generators, to go on exactly from them."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's global and torch's (CPU and every CUDA device) generators."""
    import torch  # slow to import

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  libraries still draw from it
    torch.manual_seed(seed)


def rng_state() -> dict[str, Any]:
    """States of the generators `seed_everything` seeds, as values msgpack can hold."""
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
    """Set what `rng_state` returned. CUDA states are set as far as there are devices."""
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
    """Let what is drawn within be of this seed, and leave the generators as they were."""
    state = rng_state()
    seed_everything(seed)
    try:
        yield
    finally:
        set_rng_state(state)


def _bytes_tensor(data: bytes) -> Any:
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
