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
    """An episode's place, as known from rewards and its own actions."""

    gained: float
    """Return so far."""
    reward: float
    """The last step's reward."""
    since_jump: int
    """Steps since the last jump, at most JUMP_STEPS."""


def before(rewards: NDArray[np.floating]) -> NDArray[np.float32]:
    """The return before each step: rewards [L] -> [L]."""
    return np.concatenate([[0.0], np.cumsum(rewards)[:-1]]).astype(np.float32)


@dataclass(eq=False)
class StoredSequence:
    """The actions [L] of an episode up to its furthest point."""

    number: int
    """Number in the order of discovery."""
    actions: Actions
    returns: list[float]
    """Returns of the run that found it and of each replay."""
    recording: str = ""
    """The recording (.bk2, in recordings/) of the episode in which it was found, if any."""
    rewards: NDArray[np.float32] | None = None
    """The reward of each action in that run, [L], if replays recover."""
    slots: list[Slot] = field(default_factory=list)
    """The places where replays failed, and the variants tried there."""
    ends: list[int] = field(default_factory=list)
    """The step at which each replay left the plan; L if it did not."""

    @cached_property
    def mean(self) -> float:
        """Mean return."""
        return sum(self.returns) / len(self.returns)

    def add_return(self, value: float, *, latest: int) -> None:
        """Add the return of one more replay. latest: number of returns that count; 0: all."""
        self.__dict__.pop("mean", None)
        self.returns.append(value)
        if latest:
            del self.returns[:-latest]

    @property
    def gained(self) -> NDArray[np.float32] | None:
        """The return before each action in the run that found it, [L]."""
        return None if self.rewards is None else before(self.rewards)

    def improved(self) -> Actions:
        """The actions, with the likeliest variant of each slot."""
        return slots.applied(self.actions, self.slots, slots.likeliest(self.slots))
