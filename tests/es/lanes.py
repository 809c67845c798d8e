"""Corridors with chance: what seeds and levels change shows in returns."""

import time
from dataclasses import dataclass

import numpy as np

from tests.conftest import Corridor

LEVELS = [f"BrambleDash-Genesis-v0:BrambleWood.Act{number}" for number in "12"]


@dataclass(frozen=True)
class Start:
    """What an episode began with."""

    level: int
    seed: int | None


class Lanes(Corridor):
    """Rows begin a lane with seeds of their own; wind loses actions, more on the second lane."""

    resets_rows = True

    def __init__(self, num_envs, *, pause=0.0):
        super().__init__(num_envs)
        self.pause = pause
        self.lanes = [0] * num_envs
        self.rngs = [np.random.default_rng(0) for _ in range(num_envs)]
        self.begun: list[Start] = []
        self.stepped = 0

    def reset(self, *, seed=None, options=None):
        if options is None:
            return super().reset()
        for env in np.flatnonzero(options["reset_mask"]):
            assert not self.steps[env], "an episode was cut"
            self._restart(env)
            start = Start(LEVELS.index(options["levels"][env]), seed[env])
            self.lanes[env], self.rngs[env] = start.level, np.random.default_rng(start.seed)
            self.begun.append(start)
        return self.stacks.copy(), {}

    def step_wait(self, part=slice(None)):
        time.sleep(self.pause)
        rows = range(self.num_envs)[part]
        self.stepped += len(rows)
        for env in rows:
            if self.rngs[env].random() < (0.05, 0.2)[self.lanes[env]]:
                self.actions[env] = 0
        return super().step_wait(part)
