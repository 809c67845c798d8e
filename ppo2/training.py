"""A PPO2 run's state: all that changes while `train.run` loops, and what it does with it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs import ended_episodes, row_seeds
from experience.return_scale import ReturnScale
from experiment.device import memory_for, prepare_device
from experiment.distributed import Group
from experiment.seeding import generator_state, seed_everything
from exploration.novelty import Novelty
from exploration.rnd import RND
from nets.actor_critic import sample_actions
from nets.noisy import noise_of
from ppo2.agent import PPO2Agent, make_net
from ppo2.config import PPO2Config
from ppo2.learner import Learner
from ppo2.memory import Outcome, Rollout, minibatches

THREADS = torch.get_num_threads()
"""What PyTorch decided for this process, before anybody changed it."""


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: PPO2Config
    num_envs: int
    env_steps: int = 0
    updates: int = 0
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    ended: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    """Episodes not yet reported: (env_steps, environment, episode)."""

    def __post_init__(self) -> None:
        config, num_envs = self.config, self.num_envs
        seed = config.run.seed
        seed_everything(seed)
        self.group = Group()
        self.mine = slice(self.group.rank * num_envs, (self.group.rank + 1) * num_envs)
        """This process's environments, counted over all processes."""
        numbers = range(self.mine.start, self.mine.stop)
        self.rngs = [np.random.default_rng([seed, i]) for i in numbers]
        self.device = prepare_device(config.run.device)
        # The learner has threads of its own. While acting, a second one would wait for a core that
        # the emulators use, at every layer.
        torch.set_num_threads(1)
        net = make_net(config).to(self.device)
        self.agent = PPO2Agent(net, config, device=str(self.device))
        threads = config.torch_threads or THREADS
        self.learner = Learner(net, config, device=self.device, group=self.group, threads=threads)
        self.spec = config.env.spec()
        self.state = self.agent.no_state(num_envs)
        self.starts = np.ones(num_envs, bool)
        self.progress = np.zeros(num_envs)
        with memory_for(
            f"rollouts of {config.rollout_steps} steps of {num_envs} environments",
            instead="give fewer --rollout-steps or --num-envs",
        ):
            self.rollout = Rollout(
                config.rollout_steps,
                num_envs,
                image=self.spec.observation_shape,
                state_size=self.state.shape[1],
                device=self.device,
            )
        ends = np.linspace(0, num_envs, min(config.act_parts, num_envs) + 1).astype(int).tolist()
        self.parts = [slice(*ends) for ends in pairwise(ends)]
        gamma = config.gamma if config.return_gamma is None else config.return_gamma
        self.return_scale = ReturnScale(num_envs, gamma=gamma)
        self.novelty = self.rnd = None
        if config.novelty > 0.0:
            self.novelty = Novelty(progress=config.novelty_progress, colours=config.novelty_colours)
        if config.rnd > 0.0:
            self.rnd = RND(
                (*self.spec.observation_shape[1:], self.spec.channels),
                num_envs,
                gamma=config.gamma,
                learning_rate=config.rnd_learning_rate,
                device=self.device,
                group=self.group,
            )
        self.begin_rollout()

    @property
    def steps_per_rollout(self) -> int:
        """Agent steps of a rollout, of all processes."""
        return self.rollout.steps * self.num_envs * self.group.size

    def env_seeds(self) -> int | list[int | None]:
        """Seeds of this process's environments: as in one process alone."""
        if self.group.size == 1:
            return self.config.run.seed
        return [*row_seeds(self.config.run.seed, self.mine.stop)[self.mine]]

    def steps_to_play(self) -> int:
        """Steps until the rollout is full or the run is over."""
        left = self.config.run.timesteps - self.env_steps
        left = -(-left // (self.num_envs * self.group.size))
        return min(self.rollout.steps - self.rollout.filled, left)

    def part_of_run(self) -> float:
        """How much of the run had passed before this rollout, 0 to 1."""
        return max(0.0, (self.env_steps - self.steps_per_rollout) / self.config.run.timesteps)

    def passes(self, every: int) -> bool:
        """Whether the last rollout passed a multiple of `every`; never where it is 0."""
        return every > 0 and self.env_steps % every < self.steps_per_rollout

    @property
    def checkpoint_every(self) -> int:
        """Agent steps between checkpoints, as one or the other setting says."""
        settings, count = self.config.run, self.config.num_checkpoints
        return -(-settings.timesteps // count) if count else settings.checkpoint_every

    def begin_rollout(self) -> None:
        """Draw what one needs, each environment from its own generator."""
        self.rollout.clear()
        self.began = [generator_state(rng) for rng in self.rngs]
        draws = [rng.random(self.rollout.steps, np.float32) for rng in self.rngs]
        self.uniforms = torch.from_numpy(np.stack(draws, axis=1)).to(self.device)
        self.noise = self.agent.net.draw_noise(self.rngs, self.device)
        if self.config.brightness > 0.0:
            gains = [1.0 + self.config.brightness * (2.0 * rng.random() - 1.0) for rng in self.rngs]
            self.tables = np.outer(gains, np.arange(256)).clip(0, 255).astype(np.uint8)

    def images(self, obs: NDArray[np.uint8], envs: Sequence[int]) -> Tensor:
        """obs [n,C,H,W] of those environments -> on the device, channels last, as bright as they
        are in this rollout."""
        if self.config.brightness > 0.0:
            obs = np.stack([self.tables[env][image] for env, image in zip(envs, obs, strict=True)])
        images = torch.from_numpy(obs)
        if self.device.type != "cpu":
            images = images.pin_memory().to(self.device, non_blocking=True)
        return images.contiguous(memory_format=torch.channels_last)

    def act(self, obs: NDArray[np.uint8], part: slice) -> NDArray[np.int64]:
        """obs uint8 [n,C,H,W] of the environments in that part -> their actions [n]; the rollout
        keeps both."""
        images = self.images(obs, range(self.num_envs)[part])
        log_probs, values, state = self.agent.evaluate(
            images,
            state=self.state[part],
            starts=torch.from_numpy(self.starts[part]).to(self.device, non_blocking=True),
            noise=noise_of(self.noise, part),
        )
        actions = sample_actions(log_probs, self.uniforms[self.rollout.step_of(part), part])
        self.rollout.add_actions(
            images,
            self.state[part],
            self.starts[part],
            actions,
            log_probs.gather(1, actions[:, None]).squeeze(1),
            values,
            part=part,
        )
        self.state[part] = state
        return actions.cpu().numpy()

    def add(self, outcome: Outcome, *, levels: Sequence[str], part: slice) -> None:
        """Keep what came of that part's actions, [n]; infos are of all environments, levels [n] are
        played from now on."""
        self.rollout.add_outcomes(
            outcome,
            deaths=self.count(outcome, part=part),
            progress=self.progress[part],
            levels=np.array([crc32(level.encode()) for level in levels]),
            part=part,
        )

    def count(self, outcome: Outcome, *, part: slice) -> NDArray[np.bool_]:
        """Count a step of that part, and its ended episodes -> where [n] one ended by a death.

        The steps of all count once the last part has taken its own.
        """
        rewards, terminated, truncated, infos = outcome
        env_steps = self.env_steps + self.num_envs * self.group.size
        self.progress[part][self.starts[part]] = 0.0
        self.progress[part] += rewards / self.spec.reward_scale
        self.starts[part] = terminated | truncated
        deaths = np.zeros(len(rewards), bool)
        for episode in ended_episodes(infos):
            row = episode["env"] - part.start
            deaths[row] = terminated[row] and not episode["finished"]
            self.ended.append((env_steps, self.mine.start + episode["env"], episode))
        if part.stop == self.num_envs:
            self.env_steps = env_steps
        return deaths

    def rewards(self, obs: NDArray[np.uint8]) -> tuple[NDArray[np.float32], dict[str, float]]:
        """What to learn from, [T,N]: rewards scaled, the cost of deaths taken off, bonuses added ->
        with metrics of these. obs: after the rollout."""
        config, rollout = self.config, self.rollout
        metrics: dict[str, float] = {}
        rewards: NDArray[np.float32] = rollout.rewards
        if config.normalise_returns:
            rewards = self.return_scale(rewards, rollout.ended, self.group)
        rewards = rewards - (config.death_penalty * rollout.deaths).astype(np.float32)
        if self.novelty is None and self.rnd is None:
            return rewards, metrics
        last = self.images(obs, range(self.num_envs))
        frames = rollout.frames_reached(last, self.spec.channels)
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
            bonus = self.rnd.bonus(frames, rollout.ended)
            rewards = rewards + (config.rnd * bonus).astype(np.float32)
            shuffled = minibatches(self.rngs, rollout.steps, count=config.minibatches)
            metrics["rnd_error"] = self.rnd.learn(frames, shuffled)
        return rewards, metrics

    def chance(self, count: int) -> Tensor:
        """So many numbers from 0 to 1 for each step of the rollout, [T·N,count], each environment's
        from its own generator."""
        shape = self.rollout.steps, count
        drawn = np.stack([rng.random(shape, np.float32) for rng in self.rngs], axis=1)
        return torch.from_numpy(drawn).to(self.device).flatten(0, 1)

    def next_values(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Values [T,N] of the state that each step reached, before any reset; meaningless where
        terminated. obs: after the rollout."""
        rollout, everyone = self.rollout, list(range(self.num_envs))
        last = self.values(obs, everyone, state=self.state, starts=self.starts)
        values = np.concatenate([rollout.values[1:].cpu().numpy(), last[None]])
        if rollout.finals:  # of episodes that were cut
            steps, envs = (list(where) for where in zip(*rollout.finals, strict=True))
            states = torch.cat([rollout.states[1:], self.state[None]])[steps, envs]
            goes_on = np.zeros(len(envs), bool)
            finals = np.stack(list(rollout.finals.values()))
            values[steps, envs] = self.values(finals, envs, state=states, starts=goes_on)
        return values

    def values(
        self, obs: NDArray[np.uint8], envs: list[int], *, state: Tensor, starts: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Values [n] of observations [n,C,H,W] of those environments."""
        _, values, _ = self.agent.evaluate(
            self.images(obs, envs),
            state=state,
            starts=torch.from_numpy(starts).to(self.device),
            noise=noise_of(self.noise, envs),
        )
        return values.cpu().numpy()
