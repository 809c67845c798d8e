"""Fixed policies to compare agents with. Actions are the environment's 7."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.episodes import Random
from retro_agents.contract.policy import Policy

ACTIONS = 7
RIGHT = 1
PERIOD, HOLD = 21, 5
"""The rhythm of run-and-jump, in steps: the best one on BrambleDash's training acts. A full jump
takes about 15 steps; presses in the air have no effect (see
lab/notebook/2026-11-22-third-cartridge.md)."""
JUMP = 6  # B alone: the contest has no RIGHT+B; momentum carries the jump forwards


@final
class RunAndJump:
    """Runs right, and jumps every `period` steps of an episode (15 a second), for `hold` steps.

    With hold 0 it never jumps. A steady rhythm gets further than random jumps, which come in pairs
    or not at all.
    """

    config = None

    def __init__(self, *, period: int = PERIOD, hold: int = HOLD) -> None:
        self._period = period
        self._hold = hold
        self._steps = np.zeros(0, np.int64)

    def act(
        self, obs: NDArray[np.uint8], *, starts: NDArray[np.bool_] | None = None, **_: Any
    ) -> NDArray[np.int64]:
        """obs [N,…] -> actions [N]. starts [N]: rows where an episode, and the rhythm, begin."""
        if len(self._steps) != len(obs):
            self._steps = np.zeros(len(obs), np.int64)
        if starts is not None:
            self._steps[starts] = 0
        jumps = self._steps % self._period < self._hold
        self._steps += 1
        return np.where(jumps, JUMP, RIGHT)


REFERENCES: dict[str, Callable[[int], Policy]] = {
    "random": lambda seed: Random(ACTIONS, seed=seed),
    "hold-right": lambda _: RunAndJump(hold=0),
    "run-and-jump": lambda _: RunAndJump(),
}
"""Name -> the policy with a seed."""
