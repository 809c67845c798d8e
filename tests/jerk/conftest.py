"""A longer corridor with four holes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import JUMP, RIGHT, Corridor

LENGTH, HOLES, LIMIT = 30, (7, 13, 20, 26), 80


class Course(Corridor):
    """As Corridor, 30 columns long. Exploration alone gets through one time in a hundred."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        self.levels = ["course"] * num_envs

    def step_wait(self) -> tuple[np.ndarray, ...]:
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {}
        for env, action in enumerate(self.actions):
            fell = action == RIGHT and self.position[env] + 1 in HOLES
            moved = action in (RIGHT, JUMP)
            self.position[env] += moved
            rewards[env] = float(moved and not fell)
            self.steps[env] += 1
            finished = self.position[env] == LENGTH
            terminated[env] = fell or finished
            truncated[env] = not terminated[env] and self.steps[env] == LIMIT
            self._show(env)
            if terminated[env] or truncated[env]:
                episode = {
                    "r": float(self.position[env] - fell),
                    "l": int(self.steps[env]),
                    "level": "course",
                    "progress": self.position[env] / LENGTH,
                    "finished": bool(finished),
                }
                last = {"final_obs": self.stacks[env].copy(), "episode_record": episode}
                infos = self._add_info(infos, last, env)
                self._restart(env)
        return self.stacks.copy(), rewards, terminated, truncated, infos

    def _frame(self, env: int) -> np.ndarray:
        frame = np.full((36, 36), 30, np.uint8)
        frame[:, self.position[env] : self.position[env] + 5] = 220
        return frame


@pytest.fixture
def course() -> Callable[..., Course]:
    return Course
