"""An IMPALA run's state: all that changes while `train.run` loops, but for what the actors have."""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from impala.agent import ImpalaAgent
from impala.config import ImpalaConfig
from impala.learner import Learner
from impala.memory import Memory, Sequences
from impala.play import Block, Player
from retro_agents.experience.replay_seed import check_made_alike, check_seen_alike
from retro_agents.experience.saving import save_run
from retro_agents.ground.device import THREADS, prepare_device
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.ground.seeding import rng_state, seed_everything
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.checkpoint import Checkpoint, load_to_resume, save_checkpoint
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser


@dataclass
class Training:
    """What a checkpoint holds, together with what a player in this process has."""

    config: ImpalaConfig
    env_steps: int = 0
    updates: int = 0
    """Batches learned from."""
    block_steps: int = 0
    """Of the last block."""
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))

    def __post_init__(self) -> None:
        config = self.config
        seed_everything(config.run.seed)
        device = prepare_device(config.run.device)
        torch.set_num_threads(1)  # while acting; the learner has threads of its own
        net = make_actor_critic(config).to(device)
        self.agent = ImpalaAgent(net, config, device=str(device))
        threads = config.torch_threads or THREADS
        self.learner = Learner(net, config, device=device, threads=threads)
        self.memory = Memory(
            sequences=config.batch_size // config.rollout_steps,
            remembered=config.replay_batches,
            proportion=config.replay_proportion,
            rng=np.random.default_rng([config.run.seed, 0, 1]),  # 0, 0 is an environment's
        )

    def count(self, block: Block) -> None:
        """Its steps and returns."""
        self.env_steps += block.env_steps
        self.block_steps = block.env_steps
        if block.sequences is not None:  # a part of which may have been played before
            self.block_steps = block.sequences.actions.size
        self.recent_returns.extend(episode["r"] for *_, episode in block.episodes)

    def passes(self, every: int) -> bool:
        """Whether the last block passed a multiple of `every`; never where it is 0."""
        return every > 0 and self.env_steps % every < self.block_steps

    def learn(self, sequences: Sequences) -> dict[str, float]:
        """Learn from the batches that these make full, and from remembered ones -> metrics, means
        over the new ones; none where there were none."""
        part = max(0.0, (self.env_steps - self.block_steps) / self.config.run.timesteps)
        rows = []
        for batch, new in self.memory.batches(sequences):
            lag = self.updates - float(batch.versions.mean())
            values = self.learner.update(batch, part=min(part, 1.0))
            self.updates += 1
            if new:
                rows.append({**values, "policy_lag": lag})
        means = {name: fmean(row[name] for row in rows) for name in (rows[0] if rows else ())}
        if rows and self.recent_returns:
            means["mean_return"] = fmean(self.recent_returns)
        return {**means, "updates": self.updates} if rows else {}

    def save(self, run_dir: Path | str, player: Player | None) -> None:
        """Write a checkpoint from which a run goes on: exactly with the player of this process;
        without one the actors will begin new episodes."""
        memory = self.memory
        own: dict[str, Any] = {
            "agent": "impala",
            "tensors": {
                "net": self.agent.net.state_dict(),
                "optimiser": optimiser_tensors(self.learner.optimiser),
            },
            "arrays": memory.arrays(),
        }
        state = {
            "memory_rng": generator_state(memory.rng),
            "remembered": len(memory.remembered),
            "owed": memory.owed,
            "returns": list(self.recent_returns),
        }
        if player is not None:
            save_run(
                player.collector, run_dir, player.envs, updates=self.updates, state=state, **own
            )
            return
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            config=self.config,
            counters={"env_steps": self.env_steps, "updates": self.updates},
            state={**state, "rng": rng_state()},
            **own,
        )

    def restore(self, run_dir: Path | str) -> Checkpoint:
        """Be what the last checkpoint of a run was -> it, for a player to go on from."""
        saved = load_to_resume(run_dir)
        saved.check_run("memory_rng")
        self.agent.load_weights(saved)
        state = saved.state
        saved.check_same(self.config)
        check_made_alike(saved, self.config.env, instead="begin anew")
        check_seen_alike(saved, self.config)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.env_steps, self.updates = saved.counters["env_steps"], saved.counters["updates"]
        self.recent_returns.extend(state["returns"])
        self.memory.restore(saved.arrays, remembered=state["remembered"], owed=state["owed"])
        set_generator_state(self.memory.rng, state["memory_rng"])
        return saved
