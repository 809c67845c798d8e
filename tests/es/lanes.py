"""A stage of corridors with chance: what seeds and levels change shows in returns."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from es.emulators import Answer, Start
from es.train import Stage
from tests.conftest import Corridor


class Lanes:
    """Rows that each play a corridor. On level 1 actions are lost more often than on level 0."""

    planned = True
    levels = ("lane:calm", "lane:windy")

    def __init__(self, num_envs: int, *, pause: float = 0.0) -> None:
        self.num_envs, self.pause = num_envs, pause
        self.rows = [Corridor(1) for _ in range(num_envs)]
        self.obs = np.zeros((num_envs, 4, 36, 36), np.uint8)
        self.starts: list[Start | None] = [None] * num_envs
        self.rngs = [np.random.default_rng(0) for _ in range(num_envs)]
        self.begun: list[Start] = []

    def free(self, row: int) -> bool:
        return True

    def begin(self, row: int, start: Start) -> None:
        self.obs[row] = self.rows[row].reset()[0][0]
        self.starts[row], self.rngs[row] = start, np.random.default_rng(start.seed)
        self.begun.append(start)

    def step(self, actions: np.ndarray, rows: Sequence[int]) -> dict[int, Answer]:
        time.sleep(self.pause)
        return {row: self.step_row(row, int(actions[row])) for row in rows}

    def step_row(self, row: int, action: int) -> Answer:
        start, corridor = self.starts[row], self.rows[row]
        assert start is not None
        lost = self.rngs[row].random() < (0.05, 0.2)[start.level]
        taken = int(corridor.steps[0]) + 1
        reached = float(corridor.position[0])
        obs, rewards, _, _, infos = corridor.step(np.array([0 if lost else action]))
        self.obs[row] = obs[0]
        episode: dict[str, Any] | None = None
        if "episode" in infos:
            episode = {name: infos["episode"][name][0] for name in ("r", "progress", "finished")}
        elif start.steps and taken >= start.steps:
            reached += float(rewards[0])
            episode = {"r": reached, "progress": reached / 8, "finished": False}
        return Answer(float(rewards[0]), episode)


def check(stage: Lanes) -> Stage:
    """For the type checker: it is a stage."""
    return stage
