"""Where a diverged replay continues: at a similar step of any good sequence.

A place is known only by rewards and own actions, not by what is seen.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jerk.sequence import Place, StoredSequence, before

OFF_RETURN, OFF_STEPS, GIVE_UP_STEPS = 20.0, 4, 8
"""A replay has diverged if its return differs by more than OFF_RETURN for more than OFF_STEPS steps
in a row; after GIVE_UP_STEPS of them without a similar step it explores."""
NEAR = 16.0
"""Largest difference between the returns of two similar steps."""
RETURN_SCALE, REWARD_SCALE, JUMP_SCALE = 12.0, 6.0, 4.0
"""Differences in return, in the last reward and in steps since a jump that have equal weight."""
JUMP_STEPS = 12
"""Steps since a jump count at most so many."""
COST = 1.5
"""Steps with a larger distance are not similar."""
GOOD, MORE, LEFT = 0.6, 400.0, 10
"""A sequence to continue with has at least GOOD times the best mean return, a total return of MORE
above the current one, and more than LEFT steps left."""


def places(
    actions: NDArray[np.uint8], rewards: NDArray[np.floating], *, jump: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """The place before each of L actions: (gained, reward, since_jump), each [L]."""
    last = np.concatenate([[0.0], rewards[:-1]])
    steps = np.arange(len(actions))
    jumped = np.where(actions == jump, steps, -JUMP_STEPS - 1)
    latest = np.concatenate([[-JUMP_STEPS - 1], np.maximum.accumulate(jumped)[:-1]])
    since = np.minimum(steps - 1 - latest, JUMP_STEPS)
    return before(rewards), last.astype(np.float32), since


class SequencePool:
    """All steps of a level's sequences."""

    def __init__(self, sequences: Sequence[StoredSequence], *, jump: int) -> None:
        known = [(one, one.rewards) for one in sequences if one.rewards is not None]
        self.sequences = [one for one, _ in known]
        self.numbers = [one.number for one in sequences]
        empty = np.zeros((3, 0), np.float32)
        steps = [
            np.stack(places(one.actions, rewards, jump=jump))[:, : max(0, len(rewards) - LEFT)]
            for one, rewards in known
        ]
        lengths = [part.shape[1] for part in steps]
        self.gained, self.reward, self.since_jump = np.concatenate([empty, *steps], axis=1)
        self.order = np.argsort(self.gained)
        self.ascending = self.gained[self.order]
        self.which = np.repeat(np.arange(len(lengths)), lengths)
        self.first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.whole = np.array([float(rewards.sum()) for _, rewards in known])

    def is_of(self, sequences: Sequence[StoredSequence]) -> bool:
        """Whether the pool was made of these sequences."""
        return self.numbers == [one.number for one in sequences]

    def nearest(self, place: Place, *, best: float) -> tuple[StoredSequence, int] | None:
        """The sequence and step that are most similar to a place; None if none is similar.
        best: the largest mean return of the level's sequences."""
        # A window of candidates, found without a full scan; the next line corrects its rounding.
        ends = np.array([place.gained - 2 * NEAR, place.gained + 2 * NEAR], np.float32)
        around = np.sort(self.order[slice(*np.searchsorted(self.ascending, ends))])
        near = around[np.abs(self.gained[around] - place.gained) <= NEAR]
        if not len(near) or best <= 0.0:
            return None
        share = np.array([one.mean for one in self.sequences]) / best
        good = (share >= GOOD) & (self.whole > place.gained + MORE)
        near = near[good[self.which[near]]]
        if not len(near):
            return None
        cost = (
            np.abs(self.gained[near] - place.gained) / RETURN_SCALE
            + np.abs(self.reward[near] - place.reward) / REWARD_SCALE
            + np.abs(self.since_jump[near] - place.since_jump) / JUMP_SCALE
            - (share[self.which[near]] - 1.0)
        )
        least = int(cost.argmin())
        if cost[least] >= COST:
            return None
        row = int(near[least])
        which = int(self.which[row])
        return self.sequences[which], row - int(self.first[which])
