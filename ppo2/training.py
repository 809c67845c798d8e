"""All that changes during a run of PPO2, and how it is saved and restored."""

import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.imitation import Imitation
from ppo2.learner import Learner
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.novelty import Novelty
from retro_agents.experience.on_policy import OnPolicy
from retro_agents.experience.return_scale import LIMIT
from retro_agents.experience.rnd import RND
from retro_agents.experience.rollouts import Batch
from retro_agents.experience.values import endless_advantages
from retro_agents.ground.arrays import StoredArrays
from retro_agents.ground.device import THREADS, prepare_device
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.ground.seeding import seed_everything
from retro_agents.run.checkpoint import Checkpoint

MEMORY_PREFIX = "imitation_"
"""Prefix of the arrays of self-imitation's memory in a checkpoint."""


class Training(OnPolicy):
    """PPO2's agent, learner and bonuses; what plays is `OnPolicy`'s."""

    name = "ppo2"
    agent_type, learner_type = PPO2Agent, Learner

    def __init__(self, config: PPO2Config, num_envs: int) -> None:
        seed_everything(config.run.seed)
        device = prepare_device(config.run.device)
        # The learner has threads of its own. While acting, a second one would wait for a core that
        # the emulators use, at every layer.
        torch.set_num_threads(1)
        net = self.agent_type.make_net(config).to(device)
        gamma = config.gamma if config.return_gamma is None else config.return_gamma
        agent = self.agent_type(net, config, device=str(device))
        graphs = config.cuda_graphs and device.type == "cuda" and not config.noisy
        super().__init__(
            agent,
            num_envs,
            return_gamma=gamma,
            graphs=graphs,
            draw_noise=net.draw_noise if config.noisy else None,
            values=2 if config.bonus_apart else 1,
            detour_after=config.detour_after,
        )
        threads = config.computing.torch_threads or THREADS
        self.learner = self.learner_type(
            net, config, device=device, group=self.group, threads=threads
        )
        self.imitation = None
        if config.self_imitation > 0.0:
            if self.size > 1:
                raise UserError(
                    "--self-imitation remembers in one process: start one, or give "
                    "--self-imitation 0"
                )
            self.imitation = Imitation(config, num_envs)
        self.novelty = Novelty() if config.novelty > 0.0 else None
        self.rnd = None
        if config.rnd > 0.0:
            spec = self.collector.spec
            channels, *image = spec.observation_shape
            self.rnd = RND(
                (*image, channels if config.rnd_kind == "impala" else spec.channels),
                num_envs,
                gamma=config.rnd_gamma if config.bonus_apart else config.gamma,
                device=device,
                group=self.group,
                kind=config.rnd_kind,
                episodic=not config.bonus_apart,
            )

    @property
    def checkpoint_every(self) -> int:
        """Agent steps between checkpoints: by num_checkpoints or, if it is 0, checkpoint_every."""
        settings, count = self.config.run, self.config.num_checkpoints
        return -(-settings.timesteps // count) if count else settings.checkpoint_every

    def learn(self, obs: NDArray[np.uint8]) -> dict[str, float]:
        """Learns from the full rollout, which led to `obs`, and begins another. Returns metrics."""
        config, collector = self.config, self.collector
        batch, explained, bonuses = self.batch(obs)
        epochs = collector.minibatches(
            config.epochs, count=config.minibatches, length=config.sequence_steps
        )
        part, chance = collector.part_of_run(), collector.chance
        losses = self.learner.update(batch, epochs, part=part, chance=chance)
        imitated = self.imitate()
        self.updates += 1
        collector.begin_rollout()
        learned = {"explained_variance": explained, **losses, **imitated}
        played = {**collector.detour_share(), **bonuses}
        return {**learned, **played, "updates": self.updates, **collector.returns()}

    def batch(self, obs: NDArray[np.uint8]) -> tuple[Batch, float, dict[str, float]]:
        """The rollout to learn from, the explained share of its returns' variance, and metrics of
        bonuses. obs: after the rollout."""
        config, collector = self.config, self.collector
        rewards, bonus, metrics = self.rewards(obs)
        advantages, explained = self.advantages(obs, rewards)
        if bonus is None:
            return collector.batch(advantages), explained, metrics
        apart = endless_advantages(collector, obs, bonus, gamma=config.rnd_gamma, lam=config.lam)
        batch = collector.batch(np.stack([advantages, apart], axis=2))
        advantages_of, bonus_of = batch.advantages.unbind(1)
        weighed = advantages_of + config.rnd * bonus_of
        return replace(batch, advantages=weighed), explained, metrics

    def imitate(self) -> dict[str, float]:
        """Remembers the rollout, and learns from earlier ones. Returns metrics."""
        if self.imitation is None:
            return {}
        config, collector = self.config, self.collector
        scale, limit = 1.0, inf
        if config.normalise_returns:
            scale, limit = collector.return_scale.deviation, LIMIT
        self.imitation.remember(collector.rollout, scale=scale, limit=limit)
        rows = collector.num_envs * config.rollout_steps // config.minibatches
        means: list[float] = []
        for _ in range(config.self_imitation_batches):
            if (drawn := self.imitation.draw(rows)) is not None:
                batch, returns = drawn
                gains = self.learner.imitate(batch, returns / np.float32(scale))
                self.imitation.update_priorities(batch.indices, gains)
                means.append(float(gains.mean()))
        return {"imitation_gain": float(np.mean(means)) if means else 0.0}

    def rewards(
        self, obs: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None, dict[str, float]]:
        """What to learn from, [T,N]: rewards scaled, bonuses added; RND's bonus, if it has a value
        function of its own; metrics of bonuses. obs: after the rollout."""
        config, collector, rollout = self.config, self.collector, self.collector.rollout
        rewards, apart = collector.rewards(scaled=config.normalise_returns), None
        if self.novelty is None and self.rnd is None:
            return rewards, apart, {}
        metrics: dict[str, float] = {}
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
            if config.bonus_apart:
                apart = bonus
            else:
                rewards = rewards + (config.rnd * bonus).astype(np.float32)
            (shuffled,) = collector.minibatches(1, count=config.minibatches)
            metrics["rnd_error"] = self.rnd.learn(frames, shuffled)
        return rewards, apart, metrics

    def save(self, run_dir: Path | str, envs: VectorEnv, **_: Any) -> None:
        """Writes a checkpoint, from which any number of processes can resume exactly."""
        weight = float(self.learner.kl_weight)
        own: dict[str, Any] = {"arrays": {}, "rows": {}, "state": {"kl_weight": weight}}
        if self.novelty is not None:
            own["arrays"]["novelty"] = self.novelty.array()
        if self.imitation is not None:
            memory = self.imitation.arrays()
            own["arrays"] |= {MEMORY_PREFIX + name: rows for name, rows in memory.items()}
            own["state"]["imitation_rng"] = generator_state(self.imitation.rng)
        if self.rnd is not None:
            own["tensors"] = {"rnd": self.rnd.tensors()}
            own["state"]["rnd_moments"] = self.rnd.scale.moments.tolist()
            own["rows"]["rnd_sums"] = self.rnd.scale.sums.tolist()
        if (detours := self.collector.detours) is not None:
            own["rows"]["detour-after"] = detours.rows(self.collector.rollout.filled)
        super().save(run_dir, envs, keep=sys.maxsize if self.config.num_checkpoints else 2, **own)

    def restore_own(self, saved: Checkpoint) -> None:
        """Restores the penalty's weight, bonuses and detours. Raises UserError if the saved run had
        none of them."""
        detours = self.collector.detours
        for part, name, stored in (
            (self.novelty, "novelty", saved.arrays),
            (self.rnd, "rnd", saved.tensors),
            (detours, "detour-after", saved.state),
        ):
            if part is not None and name not in stored:
                raise UserError(
                    f"the saved run has no --{name}: resume without, or begin another run"
                )
        apart = saved.setting("rnd") and saved.setting("rnd_values") == "two"
        if apart and not self.config.bonus_apart:
            raise UserError(
                "the saved run's bonus has a value function of its own: resume with --rnd-values "
                "two and a --rnd above 0, or begin another run with --init"
            )
        if saved.config.get("kl_penalty") == self.config.kl_penalty:  # else the weight begins anew
            self.learner.kl_weight.fill_(saved.state["kl_weight"])
        if detours is not None:
            detours.restore(saved.state["detour-after"][self.collector.share])
        if self.novelty is not None:
            self.novelty.restore(saved.arrays["novelty"])
        if self.imitation is not None:
            places = {
                name.removeprefix(MEMORY_PREFIX): place
                for name, place in saved.arrays.stored.items()
                if name.startswith(MEMORY_PREFIX)
            }
            self.imitation.restore(StoredArrays(places))
            set_generator_state(self.imitation.rng, saved.state["imitation_rng"])
        if self.rnd is not None:
            sums = saved.state["rnd_sums"][self.collector.share]
            self.rnd.restore(saved.tensors["rnd"])
            self.rnd.scale.restore(saved.state["rnd_moments"], sums)
