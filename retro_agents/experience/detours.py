"""Detours: where an agent makes no progress, it goes back some steps and forward again, jumping.

A policy that cannot pass an obstacle repeats the same few actions before it. Drawing each action
anew hardly ever leads far from there; actions that are held do. So a detour is drawn whole.
Source of the idea: temporally extended exploration, Dabney et al., arXiv:2006.01782. Differs: it
begins only where progress stands still, and moves as one would before an obstacle.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import ROUNDING
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state

BACK, FORWARD = (4, 24), (15, 39)
"""Agent steps to the left, and then to the right: minimum and maximum, drawn for each detour."""
PERIOD, JUMP = (6, 15), (3, 7)
"""Agent steps between the starts of two jumps, and of a jump: drawn for each way."""
MOVES = ("LEFT", "RIGHT", "B")
"""Names of the actions that lead back, forward, and up."""
STREAM = 77
"""Names the generators, beside the seed and the environment's number."""


def check_moves(names: Sequence[str]) -> None:
    """Raises UserError if these actions lack one of MOVES."""
    if missing := set(MOVES).difference(names):
        raise UserError(
            f"--detour-after is for platform games, with an action {min(missing)}: give 0"
        )


class Detours:
    """The detours of N environments. Each has a generator of its own, so that many processes play
    the same as one would."""

    def __init__(
        self, patience: int, *, names: Sequence[str], seed: int, numbers: Sequence[int], steps: int
    ) -> None:
        """patience: an agent's steps without progress until a detour, and until the next one.
        names: of the actions, see `check_moves`. numbers: of the environments, over all processes.
        steps: of a rollout."""
        self.patience = patience
        self.left, self.right, self.jump = (names.index(name) for name in MOVES)
        self.rngs = [np.random.default_rng([seed, number, STREAM]) for number in numbers]
        self.queues: list[list[int]] = [[] for _ in numbers]
        """The rest of each environment's detour, last action first."""
        self.waited = np.zeros(len(numbers), np.int64)
        """Steps of each agent since it made progress, or since its last detour."""
        self.furthest = np.zeros(len(numbers))
        self.taken = np.zeros((steps, len(numbers)), bool)
        """Whether a step of the rollout is a detour's."""

    def overrule(self, actions: NDArray[np.int64], part: slice, *, step: int) -> NDArray[np.int64]:
        """The actions [n] of the environments in `part`, with those of detours in place. step: of
        the rollout."""
        chosen = actions.copy()
        for row, env in enumerate(range(len(self.queues))[part]):
            if self.waited[env] >= self.patience:
                self.queues[env], self.waited[env] = self.draw(self.rngs[env])[::-1], 0
            if goes_on := bool(self.queues[env]):
                chosen[row] = self.queues[env].pop()
            self.taken[step, env] = goes_on
        return chosen

    def draw(self, rng: np.random.Generator) -> list[int]:
        """Draws a detour's actions."""
        actions: list[int] = []
        for way, (least, most) in ((self.left, BACK), (self.right, FORWARD)):
            length, period, jump = (
                int(rng.integers(*ends, endpoint=True)) for ends in ((least, most), PERIOD, JUMP)
            )
            phase = int(rng.integers(period))
            beats = ((phase + k) % period for k in range(length))
            actions += [self.jump if beat >= period - jump else way for beat in beats]
        return actions

    def look(
        self, part: slice, *, step: int, progress: NDArray[np.floating], ended: NDArray[np.bool_]
    ) -> None:
        """Take in the step's outcome, [n]. Progress, or an episode's end, ends a detour."""
        further = progress > self.furthest[part] + ROUNDING
        furthest = np.where(further, progress, self.furthest[part])
        self.furthest[part] = np.where(ended, 0.0, furthest)
        self.waited[part] += ~self.taken[step, part]
        for row in np.flatnonzero(further | ended):
            self.waited[part.start + row] = 0
            self.queues[part.start + row] = []

    def rows(self, filled: int) -> list[list[Any]]:
        """Each environment's state, for a checkpoint; `restore` reads it back. filled: the complete
        steps of the rollout."""
        states = map(generator_state, self.rngs)
        numbers = self.waited.tolist(), self.furthest.tolist(), self.taken[:filled].T.tolist()
        return [list(row) for row in zip(states, self.queues, *numbers, strict=True)]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Restore what `rows` returned."""
        for env, (state, queue, waited, furthest, taken) in enumerate(rows):
            set_generator_state(self.rngs[env], state)
            self.queues[env], self.waited[env], self.furthest[env] = queue, waited, furthest
            self.taken[: len(taken), env] = taken
