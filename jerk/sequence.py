"""A sequence of actions that was played before, and a place in an episode."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jerk import slots
from jerk.explorer import Actions
from jerk.slots import Slot


class Place(NamedTuple):
    """Where an episode is, as far as rewards and its own actions tell."""

    gained: float
    """Return so far."""
    reward: float
    """Of the last step."""
    since_jump: int
    """Steps since one that jumped, at most JUMP_STEPS."""


def before(rewards: NDArray[np.floating]) -> NDArray[np.float32]:
    """The return before each step: rewards [L] -> [L]."""
    return np.concatenate([[0.0], np.cumsum(rewards)[:-1]]).astype(np.float32)


@dataclass(eq=False)
class StoredSequence:
    """The actions [L] of an episode up to its furthest point."""

    number: int
    """In the order of discovery."""
    actions: Actions
    returns: list[float]
    """Of the run that found it, then of each replay."""
    recording: str = ""
    """The file (.bk2, in recordings/) of the episode that it began, if that was recorded."""
    rewards: NDArray[np.float32] | None = None
    """Of each action in that run, [L], where replays recover by them."""
    slots: list[Slot] = field(default_factory=list)
    """Where replays failed, and what is tried there."""
    ends: list[int] = field(default_factory=list)
    """The step at which each replay left the plan; L: it did not."""

    @cached_property
    def mean(self) -> float:
        """Mean return."""
        return sum(self.returns) / len(self.returns)

    def add_return(self, value: float, *, latest: int) -> None:
        """One more replay returned that. latest: how many count; 0: all."""
        self.__dict__.pop("mean", None)
        self.returns.append(value)
        if latest:
            del self.returns[:-latest]

    @property
    def gained(self) -> NDArray[np.float32] | None:
        """The return before each action in the run that found it, [L]."""
        return None if self.rewards is None else before(self.rewards)

    def improved(self) -> Actions:
        """The actions with the likeliest variant of each slot."""
        return slots.applied(self.actions, self.slots, slots.likeliest(self.slots))
