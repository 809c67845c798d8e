"""All that changes during a run of Tally."""

from collections import deque
from pathlib import Path

import numpy as np

from retro_agents.contract.envs import saved_states
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.run.checkpoint import save_checkpoint
from retro_agents.run.run import RunState
from tally.agent import TallyAgent, load


class Training(RunState):
    name, env_steps = "tally", 0

    def __init__(self, config):
        self.config, self.agent = config, TallyAgent(config)
        self.rng, self.recent_returns = np.random.default_rng(config.run.seed), deque(maxlen=100)

    def start(self, init, envs):
        if init:
            self.agent.tallies[:] = load(init).tallies
        return envs.reset(seed=self.config.run.seed)[0]

    def act(self, obs):
        actions = self.agent.act(obs)
        drawn = self.rng.random(len(obs)) < self.config.explore
        return np.where(
            drawn, self.rng.integers(self.config.env.spec().actions, size=len(obs)), actions
        )

    def learn(self, actions, rewards):
        self.env_steps += len(actions)
        for action, reward in zip(actions, rewards, strict=True):
            self.agent.tallies[0, action] *= self.config.discount
            self.agent.tallies[:, action] += reward, 1.0

    def save(self, run_dir, envs):
        state = {"rng": generator_state(self.rng), "envs": saved_states(envs)}
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent=self.name,
            config=self.config,
            counters={"env_steps": self.env_steps},
            tensors={"net": self.agent.tensors()},
            arrays={"large": np.arange(9_999)},
            state={**state, "recent_returns": list(self.recent_returns)},
        )

    def restore(self, saved, envs):
        saved.check_run("rng")
        saved.check_same(self.config)
        self.agent.tallies[:] = saved.tensors["net"]["tallies"].numpy()
        self.env_steps = saved.counters["env_steps"]
        self.recent_returns.extend(saved.state["recent_returns"])
        set_generator_state(self.rng, saved.state["rng"])
        return envs.restore_states(saved.state["envs"])
