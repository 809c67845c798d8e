"""Slots: the places of a sequence where its replays fail, each with variants that are tried there.

A variant changes actions but never their number, so that all later actions keep their steps.
A replay's variant is drawn by Thompson sampling: Thompson 1933; Russo et al., arXiv:1707.02038.
A slot is judged by itself: by whether the replay got past it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jerk.explorer import Actions, Moves, Rng, draw

BEFORE, BEYOND = 24, 14
"""Steps of a slot before a failure, and steps after it at which a replay is past the slot."""
SHORTEST = 4
"""Length of the shortest slot, in steps from its first to its last."""
PRIOR, PRIOR_NEW = (1.0, 0.3), (0.7, 1.3)
"""Beta priors of the probability to pass: of each variant, and of a variant yet to be made."""
MOST = 40
"""Maximum number of variants of a slot."""
LAST_NEW = 0.85
"""Fraction of a run after which no new variants are made."""

Changes = dict[int, int]
"""Step of the sequence -> the action that replaces its own."""


@dataclass
class Variant:
    """Actions to play in a slot; without changes, the sequence's own."""

    changes: Changes = field(default_factory=dict)
    passes: int = 0
    failures: int = 0


@dataclass
class Slot:
    """The steps first … last of a sequence."""

    first: int
    last: int
    variants: list[Variant] = field(default_factory=list)

    def holds(self, step: int) -> bool:
        """Whether a replay that failed at that step failed in this slot."""
        return self.first <= step <= self.last + BEYOND


def choose(
    slots: Sequence[Slot], actions: Actions, rng: Rng, *, done: float, moves: Moves
) -> list[int]:
    """The variant that a replay plays in each slot, by Thompson sampling; a slot may get a new one.

    done: the fraction of the run that is over.
    """
    chosen = []
    for slot in slots:
        drawn = [rng.beta(PRIOR[0] + one.passes, PRIOR[1] + one.failures) for one in slot.variants]
        best = int(np.argmax(drawn))
        if done < LAST_NEW and len(drawn) < MOST and rng.beta(*PRIOR_NEW) > drawn[best]:
            best = len(drawn)
            slot.variants.append(Variant(edit(actions, slot, rng, moves=moves)))
        chosen.append(best)
    return chosen


def likeliest(slots: Sequence[Slot]) -> list[int]:
    """The variant of each slot that is most likely to pass."""
    return [
        int(np.argmax([rate(one.passes, one.failures) for one in slot.variants])) for slot in slots
    ]


def rate(passes: int, failures: int) -> float:
    """The mean probability to pass after these tries."""
    return (PRIOR[0] + passes) / (sum(PRIOR) + passes + failures)


def applied(actions: Actions, slots: Sequence[Slot], chosen: Sequence[int]) -> Actions:
    """A copy of the sequence with these variants."""
    changed = actions.copy()
    for slot, variant in zip(slots, chosen, strict=True):
        for step, action in slot.variants[variant].changes.items():
            changed[step] = action
    return changed


def edit(actions: Actions, slot: Slot, rng: Rng, *, moves: Moves) -> Changes:
    """One or two changes of jumps that begin in the slot: a jump is moved by 1 to 4 steps, held 1
    or 2 steps longer or shorter, removed, or added."""
    changed = actions.copy()
    for _ in range(1 + (rng.random() < 0.35)):
        begins = jumps_in(changed, slot, jump=moves.right_jump)
        what = rng.random()
        if not begins or what >= 0.85:
            start, held = draw((slot.first, max(slot.first, slot.last - 1)), rng), draw((2, 4), rng)
            changed[start : start + held] = moves.right_jump
            continue
        start = begins[int(rng.random() * len(begins))]
        held = int(np.append(changed[start:] != moves.right_jump, True).argmax())
        changed[start : start + held] = moves.right
        if what < 0.5:
            start += draw((1, 4), rng) * (1 if rng.random() < 0.5 else -1)
            start = min(max(0, start), len(changed) - held)
        elif what < 0.7:
            held = max(1, held + draw((1, 2), rng) * (1 if rng.random() < 0.5 else -1))
        else:
            held = 0
        changed[start : start + held] = moves.right_jump
    steps = np.flatnonzero(changed != actions)
    return dict(zip(steps.tolist(), changed[steps].tolist(), strict=True))


def jumps_in(actions: Actions, slot: Slot, *, jump: int) -> list[int]:
    """Steps of the slot, except its last one, at which a jump begins."""
    jumps = actions == jump
    begins = jumps & ~np.append(False, jumps[:-1])
    return (slot.first + np.flatnonzero(begins[slot.first : slot.last])).tolist()


def judge(slots: Sequence[Slot], chosen: Sequence[int], ended: int) -> None:
    """Count the results of the chosen variants in a replay that followed its plan up to step
    `ended` (the sequence's length if to the end)."""
    for slot, variant in zip(slots, chosen, strict=False):  # without slots that were opened since
        if ended > slot.last + BEYOND:
            slot.variants[variant].passes += 1
        elif ended >= slot.first:
            slot.variants[variant].failures += 1


def opened(slots: Sequence[Slot], ended: int, *, length: int, ends: Sequence[int]) -> Slot | None:
    """The slot for a failure at step `ended` of a sequence of that length; None if it is in an
    existing slot, or too close to one. ends: where all its replays ended, including this one."""
    if ended >= length or any(slot.holds(ended) for slot in slots):
        return None
    first, last = max(0, ended - BEFORE), ended
    for slot in slots:  # leave room for existing slots
        if first <= slot.last < last:
            first = slot.last + 1
    if last - first < SHORTEST:
        return None
    made = Slot(first, last, [Variant()])
    for end in ends:
        judge([made], [0], end)
    return made
