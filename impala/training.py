"""All that changes during a run of IMPALA, and how it is saved and restored."""

import sys
from collections import deque
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from impala.agent import ImpalaAgent
from impala.config import ImpalaConfig
from impala.learner import Learner
from impala.memory import Block, Memory
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.actors import actor_seed
from retro_agents.experience.collector import Collector
from retro_agents.experience.on_policy import contents_of, restore_run
from retro_agents.experience.replay_seed import check_seen_alike
from retro_agents.ground.arrays import Rows
from retro_agents.ground.device import THREADS, memory_for, prepare_device
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.ground.seeding import rng_state, seed_everything, set_rng_state
from retro_agents.run.checkpoint import Checkpoint, save_checkpoint
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser
from retro_agents.run.run import EndedEpisode, RunState


class SavedState(msgspec.Struct):
    """The state of a checkpoint, beside the collector's."""

    rng: dict[str, Any]
    memory_rng: str
    remembered: int
    owed: float
    returns: list[float]


@dataclass
class Training(RunState):
    """Holds the agent, what it learns with, and what plays it where no actors do."""

    name = "impala"
    agent_type, learner_type = ImpalaAgent, Learner
    config: ImpalaConfig
    env_steps: int = 0
    clock: int = 0
    """Agent steps of the whole blocks that were counted."""
    updates: int = 0
    """Batches learned from."""
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    collector: Collector | None = None
    """Plays the environments of this process; None if actors play."""

    def __post_init__(self) -> None:
        config = self.config
        seed_everything(config.run.seed)
        device = prepare_device(config.run.device)
        torch.set_num_threads(1)  # while acting; the learner has threads of its own
        net = self.agent_type.make_net(config).to(device)
        self.agent = self.agent_type(net, config, device=str(device))
        threads = config.computing.torch_threads or THREADS
        self.learner = self.learner_type(net, config, device=device, threads=threads)
        sequences = config.batch_size // config.rollout_steps
        frame = prod(config.env.spec().observation_shape)
        batches = config.replay_batches + 1
        with memory_for(
            f"{batches:,} batches of {config.batch_size:,} steps",
            instead="give fewer --replay-batches or a smaller --batch-size",
            size=batches * sequences * (config.rollout_steps + 1) * frame,
        ):
            self.memory = Memory(
                sequences=sequences,
                remembered=config.replay_batches,
                proportion=config.replay_proportion,
                # An environment draws by [seed, 0], which is the same as [seed, 0, 0].
                rng=np.random.default_rng([config.run.seed, 0, 1]),
            )

    @property
    def learns_from(self) -> str:
        """What the first update needs, while it has not been made; otherwise ""."""
        return "" if self.updates else f"{self.config.batch_size:,} steps (--batch-size)"

    def count(self, block: Block) -> list[EndedEpisode]:
        """Counts a block. Returns the episodes that ended in it."""
        ended = [(self.env_steps + step, env, episode) for step, env, episode in block.episodes]
        self.env_steps += block.env_steps
        if block.sequences is not None:
            self.clock = self.env_steps
        self.recent_returns.extend(episode["r"] for *_, episode in ended)
        return ended

    def learn(self, block: Block) -> dict[str, float]:
        """Learns from the batches that a block completes, and from remembered ones. Returns means
        of the new batches' metrics; none if there were none."""
        if block.sequences is None:
            return {}
        before = self.env_steps - block.sequences.actions.size
        part = max(0.0, before / self.config.run.timesteps)
        rows = []
        for batch, new in self.memory.batches(block.sequences):
            lag = self.updates - float(batch.versions.mean())
            values = self.learner.update(batch, part=min(part, 1.0))
            self.updates += 1
            if new:
                rows.append({**values, "policy_lag": lag})
        means = {name: fmean(row[name] for row in rows) for name in (rows[0] if rows else ())}
        if rows and self.recent_returns:
            means["mean_return"] = fmean(self.recent_returns)
        return {**means, "updates": self.updates} if rows else {}

    def start(self, init: Path | str | None, envs: VectorEnv | None) -> NDArray[np.uint8] | None:
        """Starts a run, with a checkpoint's weights if one is given. Returns as `begin` does."""
        if init:
            self.agent.start_from(init)
        return self.begin(envs)

    def begin(self, envs: VectorEnv | None) -> NDArray[np.uint8] | None:
        """Begins new episodes. Returns the first observations, or None if actors play."""
        if envs is None:
            return None
        self.collector = make_collector(self.agent, envs.num_envs, env_steps=self.env_steps)
        obs, _ = envs.reset(seed=self.collector.env_seeds())
        return obs

    def save(self, run_dir: Path | str, envs: VectorEnv | None) -> None:
        """Writes a checkpoint, from which a run can resume: exactly if this process plays; actors
        will begin new episodes."""
        arrays: dict[str, Rows] = self.memory.arrays()
        state: dict[str, Any] = {
            "rng": rng_state(),
            "memory_rng": generator_state(self.memory.rng),
            "remembered": len(self.memory.remembered),
            "owed": self.memory.owed,
            "returns": list(self.recent_returns),
        }
        if envs is not None and self.collector is not None:
            of_rollout, of_collector = contents_of(self.collector, envs)
            arrays, state = {**arrays, **of_rollout}, state | of_collector
        adam = optimiser_tensors(self.learner.optimiser)
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent=self.name,
            config=self.config,
            counters={"env_steps": self.env_steps, "updates": self.updates},
            tensors={"net": self.agent.net.state_dict(), "optimiser": adam},
            arrays=arrays,
            state=state,
        )

    def restore(self, saved: Checkpoint, envs: VectorEnv | None) -> NDArray[np.uint8] | None:
        """Restores the run from a checkpoint. Returns the observations to act on, or as `begin`
        does if actors play, or did."""
        saved.check_run("memory_rng")
        self.agent.load_weights(saved)
        state = saved.state_as(SavedState)
        saved.check_same(self.config)
        check_seen_alike(saved, self.config)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.clock = self.env_steps = saved.counters["env_steps"]
        self.updates = saved.counters["updates"]
        self.recent_returns.clear()
        self.recent_returns.extend(state.returns)
        self.memory.restore(saved.arrays, remembered=state.remembered, owed=state.owed)
        set_generator_state(self.memory.rng, state.memory_rng)
        if envs is None or "rngs" not in saved.state:
            print("impala: resuming with the saved net; new episodes begin", file=sys.stderr)
            set_rng_state(state.rng)
            return self.begin(envs)
        self.collector = make_collector(self.agent, envs.num_envs)
        obs = restore_run(saved, self.collector, envs)
        self.clock -= self.collector.rollout.filled * envs.num_envs
        return obs


def make_collector(agent: ImpalaAgent, num_envs: int, *, env_steps: int = 0) -> Collector:
    """Makes the collector of a process. env_steps: of the run so far, if it had actors; it changes
    the seed, because they have already played the episodes of the run's own seed."""
    config = agent.config
    collector = Collector(
        agent,
        num_envs,
        rollout_steps=config.rollout_steps,
        return_gamma=config.gamma,
        seed=actor_seed(config.run.seed, 0, env_steps),
    )
    collector.env_steps = env_steps
    return collector
