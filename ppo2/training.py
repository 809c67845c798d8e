"""A PPO2 run's state: all that changes while `train.run` loops, and what it does with it."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.learner import Learner
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.collector import Collector
from retro_agents.experience.novelty import Novelty
from retro_agents.experience.rnd import RND
from retro_agents.experience.rollouts import minibatches
from retro_agents.experience.saving import check_run, restore_run, save_run
from retro_agents.ground.device import THREADS, prepare_device
from retro_agents.ground.errors import UserError
from retro_agents.ground.seeding import seed_everything
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.checkpoint import load_to_resume
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds. Playing is `collector`'s."""

    config: PPO2Config
    num_envs: int
    updates: int = 0

    def __post_init__(self) -> None:
        config, num_envs = self.config, self.num_envs
        seed_everything(config.run.seed)
        device = prepare_device(config.run.device)
        # The learner has threads of its own. While acting, a second one would wait for a core that
        # the emulators use, at every layer.
        torch.set_num_threads(1)
        net = make_actor_critic(config).to(device)
        self.agent = PPO2Agent(net, config, device=str(device))
        self.collector = Collector(
            self.agent,
            num_envs,
            rollout_steps=config.rollout_steps,
            return_gamma=config.gamma if config.return_gamma is None else config.return_gamma,
            act_parts=config.act_parts,
        )
        self.group = self.collector.group
        threads = config.torch_threads or THREADS
        self.learner = Learner(net, config, device=device, group=self.group, threads=threads)
        self.novelty = self.rnd = None
        if config.novelty > 0.0:
            self.novelty = Novelty()
        if config.rnd > 0.0:
            spec = self.collector.spec
            channels, *image = spec.observation_shape
            self.rnd = RND(
                (*image, channels if config.rnd_kind == "impala" else spec.channels),
                num_envs,
                gamma=config.gamma,
                device=device,
                group=self.group,
                kind=config.rnd_kind,
            )

    @property
    def checkpoint_every(self) -> int:
        """Agent steps between checkpoints, as one or the other setting says."""
        settings, count = self.config.run, self.config.num_checkpoints
        return -(-settings.timesteps // count) if count else settings.checkpoint_every

    def rewards(self, obs: NDArray[np.uint8]) -> tuple[NDArray[np.float32], dict[str, float]]:
        """What to learn from, [T,N]: rewards scaled, bonuses added -> with metrics of these. obs:
        after the rollout."""
        config, collector, rollout = self.config, self.collector, self.collector.rollout
        metrics: dict[str, float] = {}
        rewards: NDArray[np.float32] = rollout.rewards
        if config.normalise_returns:
            rewards = collector.return_scale(rewards, rollout.ended, self.group)
        if self.novelty is None and self.rnd is None:
            return rewards, metrics
        last = collector.images(obs)
        frames = rollout.frames_reached(last, collector.spec.channels)
        if self.novelty is not None:
            new = self.novelty.bonus(
                frames,
                levels=rollout.levels,
                progress=rollout.progress,
                ended=rollout.ended,
                group=self.group,
            )
            rewards = rewards + (config.novelty * new).astype(np.float32)
            metrics["novel_keys"] = len(self.novelty.seen)
        if self.rnd is not None:
            if config.rnd_kind == "impala":
                frames = rollout.frames_reached(last, len(last[0]))
            bonus = self.rnd.bonus(frames, rollout.ended)
            rewards = rewards + (config.rnd * bonus).astype(np.float32)
            shuffled = minibatches(collector.rngs, rollout.steps, count=config.minibatches)
            metrics["rnd_error"] = self.rnd.learn(frames, shuffled)
        return rewards, metrics

    def save(self, run_dir: Path | str, envs: VectorEnv) -> None:
        """Write a checkpoint from which `restore` goes on exactly, in any number of processes."""
        adam = optimiser_tensors(self.learner.optimiser)
        tensors = {"net": self.agent.net.state_dict(), "optimiser": adam}
        arrays, rows = {}, {}
        state: dict[str, Any] = {"kl_weight": float(self.learner.kl_weight)}
        if self.novelty is not None:
            arrays["novelty"] = self.novelty.array()
        if self.rnd is not None:
            tensors["rnd"] = self.rnd.tensors()
            state["rnd_moments"] = self.rnd.scale.save()
            rows["rnd_sums"] = self.rnd.scale.sums.tolist()
        save_run(
            self.collector,
            run_dir,
            envs,
            agent="ppo2",
            updates=self.updates,
            tensors=tensors,
            arrays=arrays,
            state=state,
            rows=rows,
            keep=sys.maxsize if self.config.num_checkpoints else 2,
        )

    def restore(self, run_dir: Path | str, envs: VectorEnv) -> NDArray[np.uint8]:
        """Be what the last checkpoint of a run was -> the observations to act on."""
        saved = load_to_resume(run_dir)
        check_run(saved, self.collector)
        self.agent.load_weights(saved)
        for name, found in (("novelty", saved.arrays), ("rnd", saved.tensors)):
            if getattr(self, name) is not None and name not in found:
                raise UserError(
                    f"the saved run has no --{name}: resume without, or begin another run"
                )
        saved.check_same(self.config)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.updates = saved.counters["updates"]
        if saved.config.get("kl_penalty") == self.config.kl_penalty:  # else it begins anew
            self.learner.kl_weight.fill_(saved.state["kl_weight"])
        if self.novelty is not None:
            self.novelty.restore(saved.arrays["novelty"])
        if self.rnd is not None:
            sums = saved.state["rnd_sums"][self.collector.mine]
            self.rnd.restore(saved.tensors["rnd"])
            self.rnd.scale.restore(saved.state["rnd_moments"], sums)
        return restore_run(saved, self.collector, envs)
