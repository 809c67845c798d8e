"""All that changes during a run: what is not saved here is lost when a run is resumed."""

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import saved_states
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.run.checkpoint import save_checkpoint
from retro_agents.run.run import RunState
from tally.agent import TallyAgent, load
from tally.config import TallyConfig


class Training(RunState):
    """The agent as it learns, with its random draws and its counters."""

    name, env_steps = "tally", 0

    def __init__(self, config: TallyConfig) -> None:
        self.config, self.agent = config, TallyAgent(config)
        self.rng = np.random.default_rng(config.run.seed)
        self.recent_returns = deque[float](maxlen=100)

    def start(self, init: Path | str | None, envs: Any) -> NDArray[np.uint8]:
        """Begin, with another agent's weights if `init` names it. Returns the first images."""
        if init:
            theirs = load(init).tallies
            if theirs.shape != self.agent.tallies.shape:
                raise UserError(f"{init} has {theirs.shape[1]} actions: give as many by --actions")
            self.agent.tallies[:] = theirs
        return envs.reset(seed=self.config.run.seed)[0]

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The agent's actions, some of them drawn instead."""
        drawn = self.rng.random(len(obs)) < self.config.explore
        draws = self.rng.integers(self.config.env.spec().actions, size=len(obs))
        return np.where(drawn, draws, self.agent.act(obs))

    def learn(self, actions: NDArray[np.int64], rewards: NDArray[np.float64]) -> None:
        """Learn from a step of every environment: actions and rewards [N]."""
        self.env_steps += len(actions)
        for action, reward in zip(actions, rewards, strict=True):
            entry = self.agent.tallies[:, action]
            entry[:] = self.config.discount * entry + (reward, 1.0)

    def save(self, run_dir: Path | str, envs: Any) -> None:
        """Write a checkpoint from which the run resumes exactly. arrays: what is large, such as
        a replay buffer."""
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent=self.name,
            config=self.config,
            counters={"env_steps": self.env_steps},
            tensors={"net": self.agent.tensors()},
            arrays={"returns": np.array(self.recent_returns)},
            state={"rng": generator_state(self.rng), "envs": saved_states(envs)},
        )

    def restore(self, saved: Any, envs: Any) -> NDArray[np.uint8]:
        """Resume where `save` was called. Returns the images that were seen last."""
        saved.check_run("rng")
        saved.check_same(self.config)
        self.agent.tallies[:] = saved.tensors["net"]["tallies"].numpy()
        self.env_steps = saved.counters["env_steps"]
        self.recent_returns.clear()
        self.recent_returns.extend(saved.arrays["returns"].tolist())
        set_generator_state(self.rng, saved.state["rng"])
        return envs.restore_states(saved.state["envs"])
