"""Policies that learn nothing, to compare agents with. Actions are retro_env's 7."""

from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

ACTIONS = 7
RIGHT = 1
JUMP = 6  # B alone: the contest has no RIGHT+B, momentum carries the jump forwards


class Policy(Protocol):
    """What can play: the built-in references and every agent."""

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]."""
        ...


@final
class Random:
    """Each action with the same probability, at every step."""

    def __init__(self, *, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs [N,…] -> actions [N]."""
        return self._rng.integers(ACTIONS, size=len(obs))


@final
class HoldRight:
    """RIGHT, for ever."""

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs [N,…] -> actions [N]."""
        return np.full(len(obs), RIGHT, np.int64)


@final
class RunAndJump:
    """RIGHT; at each step with `probability` a jump instead, held for `hold` steps.

    The defaults are the jumps of the contest's JERK baseline.
    """

    def __init__(self, *, seed: int = 0, probability: float = 0.1, hold: int = 4) -> None:
        self._rng = np.random.default_rng(seed)
        self._probability = probability
        self._hold = hold
        self._left = np.zeros(0, np.int64)  # steps left of each environment's jump

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs [N,…] -> actions [N]. N must stay the same."""
        if len(self._left) == 0:
            self._left = np.zeros(len(obs), np.int64)
        assert len(self._left) == len(obs), f"{len(obs)} observations, {len(self._left)} before"
        starts = (self._left == 0) & (self._rng.random(len(obs)) < self._probability)
        self._left[starts] = self._hold
        actions = np.where(self._left > 0, JUMP, RIGHT)
        self._left = np.maximum(self._left - 1, 0)
        return actions


def reference(name: str, *, seed: int = 0) -> Policy:
    """The policy of that name; KeyError if it is none of REFERENCES."""
    if name == "random":
        return Random(seed=seed)
    if name == "hold-right":
        return HoldRight()
    if name == "run-and-jump":
        return RunAndJump(seed=seed)
    raise KeyError(name)


REFERENCES = ("random", "hold-right", "run-and-jump")
