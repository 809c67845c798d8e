"""States of NumPy's random number generators, without torch, which takes seconds to import."""

import json
from typing import Any

import numpy as np


def generator_state(generator: np.random.Generator) -> str:
    """Returns a generator's state as JSON text: its integers have 128 bits, msgpack's only 64."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else int(value)

    return json.dumps(generator.bit_generator.state, default=plain)


def set_generator_state(generator: np.random.Generator, state: str) -> None:
    """Restores a state from `generator_state`. Raises ValueError for another kind of generator."""
    generator.bit_generator.state = json.loads(state)
