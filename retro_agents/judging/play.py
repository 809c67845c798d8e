"""Play a level yourself, or against an agent: `retro-agents play LEVEL --against ppo2`."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.games.retro import play
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env
from retro_agents.judging.policies import load_policy


class AgentRival:
    """An agent that plays the level beside a person, one agent step for every four frames."""

    def __init__(self, agent: str) -> None:
        self.label = agent
        self.policy, settings = load_policy(agent, seed=0)
        self.settings = dataclasses.replace(settings.with_raw_rewards(), backend="native")
        self.env: Any = None

    def begin(self, level: Level) -> None:
        """Begin an episode."""
        if self.env is not None:
            self.env.close()
        self.env = make_env(level, self.settings)
        self.obs, _ = self.env.reset()
        self.starts, self.total, self.over, self.frames = np.ones(1, bool), 0.0, False, 0

    def frame(self) -> tuple[NDArray[np.uint8], float, bool]:
        """Play a frame -> its screen [H, W, 3], the points so far, and whether it has ended."""
        if not self.over and self.frames % self.settings.frame_skip == 0:
            (action,) = self.policy.act(self.obs[np.newaxis], starts=self.starts)
            self.obs, reward, terminated, truncated, _ = self.env.step(int(action))
            self.starts, self.total = np.zeros(1, bool), self.total + float(reward)
            self.over = terminated or truncated
        self.frames += 1
        return self.env.render(), self.total, self.over


def main() -> None:
    """The command line."""
    play.main(AgentRival)


if __name__ == "__main__":
    main()
