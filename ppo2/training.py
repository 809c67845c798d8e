"""A PPO2 run's state: all that changes while `train.run` loops, and what it does with it."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray

from envs import row_seeds
from experiment.checkpoint import load_checkpoint
from experiment.config import subset
from experiment.device import prepare_device
from experiment.distributed import Group
from experiment.errors import UserError
from experiment.seeding import generator_state, seed_everything
from nets.baselines import read_baselines
from ppo2.agent import PPO2Agent, make_net
from ppo2.config import PPO2Config
from ppo2.exploration import Distillation, Novelty
from ppo2.learner import Learner, explained_variance, generalised_advantages, sample_actions
from ppo2.memory import Deal, Rollout, minibatches, noise_of
from ppo2.rewards import ReturnScale
from retro_env import EnvConfig, ended_episodes

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
        seed_everything(config.seed)
        self.group = Group()
        self.mine = slice(self.group.rank * num_envs, (self.group.rank + 1) * num_envs)
        self.rngs = [np.random.default_rng([config.seed, i]) for i in self.indices()]
        self.device = prepare_device(config.device)
        if config.overlap and (self.group.active or self.device.type != "cpu"):
            raise UserError("--overlap is for one process on a CPU: give --no-overlap here")
        # The learner has threads of its own. While acting, a second one would wait for a core that
        # the emulators use, at every layer.
        torch.set_num_threads(1)
        net = make_net(config).to(self.device)
        self.agent = PPO2Agent(net, config, device=str(self.device), apart=True)
        self.learner = Learner(
            net,
            config,
            device=self.device,
            group=self.group,
            threads=config.torch_threads or max(1, THREADS - config.overlap),
        )
        self.learning: Callable[[], dict[str, float]] | None = None
        """Gives the metrics of what `learn` began."""
        self._thread = ThreadPoolExecutor(1, "overlap", partial(torch.set_num_threads, 1))
        env = subset(config, EnvConfig)
        self.channels = env.channels
        self.state = self.agent.no_state(num_envs)
        self.starts = np.ones(num_envs, bool)
        rollout = partial(
            Rollout,
            config.rollout_steps,
            num_envs,
            image=env.observation_shape,
            state_size=self.state.shape[1],
            device=self.device,
        )
        try:
            self.rollout = rollout()
            self.other = rollout() if config.overlap else self.rollout
            """What is learned from while `rollout` fills."""
        except RuntimeError:
            raise UserError(
                f"no memory for rollouts of {config.rollout_steps} steps of {num_envs} "
                "environments; give fewer --rollout-steps or --num-envs"
            ) from None
        ends = np.linspace(0, num_envs, min(config.act_parts, num_envs) + 1).astype(int).tolist()
        self.parts = [slice(*ends) for ends in pairwise(ends)]
        self.progress = np.zeros(num_envs)
        self.return_scale = ReturnScale(num_envs, gamma=config.gamma)
        self.novelty = self.distillation = None
        if config.novelty > 0.0:
            self.novelty = Novelty(progress=config.novelty_progress, colours=config.novelty_colours)
        if config.distillation > 0.0:
            self.distillation = Distillation(
                (config.image_height, config.image_width, self.channels),
                num_envs,
                gamma=config.gamma,
                learning_rate=config.distillation_learning_rate,
                device=self.device,
                group=self.group,
            )
        self.begin()

    def indices(self) -> range:
        """This process's environments, counted over all processes."""
        return range(self.mine.start, self.mine.stop)

    def env_seeds(self) -> int | list[int | None]:
        """Seeds of this process's environments: as in one process alone."""
        if self.group.size == 1:
            return self.config.seed
        return [*row_seeds(self.config.seed, self.mine.stop)[self.mine]]

    def begin(self) -> None:
        """Draw what a rollout needs, each environment from its own generator."""
        self.began = [generator_state(rng) for rng in self.rngs]
        draws = [rng.random(self.rollout.steps, np.float32) for rng in self.rngs]
        self.uniforms = torch.from_numpy(np.stack(draws, axis=1)).to(self.device)
        self.noise = self.agent.net.draw_noise(self.rngs, self.device)
        if self.config.brightness > 0.0:
            gains = [1.0 + self.config.brightness * (2.0 * rng.random() - 1.0) for rng in self.rngs]
            self.tables = np.outer(gains, np.arange(256)).clip(0, 255).astype(np.uint8)

    def shown(self, obs: NDArray[np.uint8], envs: Sequence[int]) -> NDArray[np.uint8]:
        """Images [len(envs),C,H,W] as those environments' brightness in this rollout shows them."""
        if self.config.brightness == 0.0:
            return obs
        return np.stack([self.tables[env][image] for env, image in zip(envs, obs, strict=True)])

    def act(self, obs: NDArray[np.uint8], part: slice) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions of the environments in that part; what the decision rested
        on is remembered."""
        rollout = self.rollout
        shown = self.shown(obs[part], range(self.num_envs)[part])
        images = rollout.see(shown, self.state[part], self.starts[part], part)
        log_probs, values, self.state[part] = self.agent.evaluate(
            images,
            state=self.state[part],
            starts=torch.from_numpy(self.starts[part]).to(self.device, non_blocking=True),
            noise=noise_of(self.noise, part),
        )
        actions = sample_actions(log_probs, self.uniforms[rollout.step_of(part), part])
        logp = log_probs.gather(1, actions[:, None]).squeeze(1)
        rollout.decide(actions, logp, values, part)
        return actions.cpu().numpy()

    def count(
        self,
        rewards: NDArray[np.floating],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        infos: dict[str, Any],
        part: slice,
    ) -> NDArray[np.bool_]:
        """Count a step of that part, and its ended episodes -> where [n] one ended by a death.

        The steps of all count once the last part has taken its own.
        """
        env_steps = self.env_steps + self.num_envs * self.group.size
        self.progress[part][self.starts[part]] = 0.0
        self.progress[part] += rewards / self.config.reward_scale
        self.starts[part] = terminated | truncated
        deaths = np.zeros(len(rewards), bool)
        for episode in ended_episodes(infos):
            env = episode["env"]
            deaths[env - part.start] = terminated[env - part.start] and not episode["finished"]
            self.ended.append((env_steps, self.mine.start + env, episode))
        if part.stop == self.num_envs:
            self.env_steps = env_steps
        return deaths

    def add(
        self,
        rewards: NDArray[np.floating],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        infos: dict[str, Any],
        *,
        levels: Sequence[str],
        part: slice,
    ) -> None:
        """Remember what came of that part's actions, [n]; infos and levels, which are played from
        now on, are of all."""
        self.rollout.add(
            rewards,
            terminated,
            truncated,
            infos.get("final_obs", ()),
            deaths=self.count(rewards, terminated, truncated, infos, part),
            progress=self.progress[part],
            levels=np.array([crc32(level.encode()) for level in levels[part]]),
            part=part,
        )

    def steps_to_play(self) -> int:
        """Steps until the rollout is full or the run is over."""
        left = -(-(self.config.timesteps - self.env_steps) // (self.num_envs * self.group.size))
        return min(self.rollout.steps - self.rollout.filled, left)

    def learn(self, obs: NDArray[np.uint8]) -> dict[str, float]:
        """Learn from the full rollout, which led to `obs`, and begin another -> metrics.

        With config.overlap the learning only begins here, and the metrics are those of the rollout
        before, none at first.
        """
        config, rollout = self.config, self.rollout
        rewards, explored = self.rewards(obs)
        values = rollout.values.cpu().numpy()
        advantages = generalised_advantages(
            rewards,
            values,
            rollout.next_values(self.values_of_last(obs), self.values_of_cut()),
            rollout.terminated,
            rollout.ended,
            gamma=config.gamma,
            lam=config.lam,
        )
        steps_before = self.env_steps - rollout.steps * self.num_envs * self.group.size
        seen = self.group.gather((values, advantages + values))
        explained = explained_variance(
            *(np.concatenate(s, axis=1) for s in zip(*seen, strict=True))
        )
        work = partial(
            self.learner.update,
            rollout.batch(advantages, noise=self.noise),
            [self.deal() for _ in range(config.epochs)],
            part=max(0.0, steps_before / config.timesteps),
        )
        metrics = self.finish()
        learned = self._thread.submit(work).result if config.overlap else work
        self.learning = lambda: {"explained_variance": explained, **learned(), **explored}
        self.rollout, self.other = self.other, self.rollout
        self.rollout.clear()
        self.begin()
        return metrics if config.overlap else self.finish()

    def deal(self) -> Deal:
        """An epoch's minibatches."""
        config = self.config
        return minibatches(
            self.rngs, config.rollout_steps, count=config.minibatches, length=config.sequence_steps
        )

    def finish(self) -> dict[str, float]:
        """Wait for what `learn` began, if it did, and act by it from now on -> its metrics."""
        if self.learning is None:
            return {}
        metrics, self.learning = self.learning(), None
        self.agent.renew()
        self.updates += 1
        return {**metrics, "updates": self.updates}

    def close(self) -> None:
        """Leave what is being learned from, without waiting for it."""
        self.learner.cancelled = True
        self._thread.shutdown(wait=False)

    def rewards(self, obs: NDArray[np.uint8]) -> tuple[NDArray[np.float32], dict[str, float]]:
        """What to learn from, [T,N]: rewards scaled, the cost of deaths taken off, bonuses added ->
        with metrics of these."""
        config, rollout = self.config, self.rollout
        metrics: dict[str, float] = {}
        rewards: NDArray[np.float32] = rollout.rewards
        if config.normalise_returns:
            rewards = self.return_scale(rewards, rollout.ended, self.group)
        rewards = rewards - (config.death_penalty * rollout.deaths).astype(np.float32)
        if self.novelty is None and self.distillation is None:
            return rewards, metrics
        frames = rollout.reached(self.shown(obs, range(self.num_envs)), self.channels)
        if self.novelty is not None:
            new = self.novelty.new(
                frames,
                levels=rollout.levels,
                progress=rollout.progress,
                goes_on=~rollout.ended,
                group=self.group,
            )
            rewards = rewards + (config.novelty * new).astype(np.float32)
            metrics["novel_keys"] = len(self.novelty.seen)
        if self.distillation is not None:
            bonus = self.distillation.bonus(frames) * ~rollout.ended
            rewards = rewards + (config.distillation * bonus).astype(np.float32)
            metrics["distillation_error"] = self.distillation.learn(
                frames, self.rngs, count=config.minibatches
            )
        return rewards, metrics

    def values_of_last(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Values [N] of the observations after the rollout."""
        shown = self.shown(obs, range(self.num_envs))
        images = torch.from_numpy(shown).to(self.device)
        starts = torch.from_numpy(self.starts).to(self.device)
        _, values, _ = self.agent.evaluate(
            images, state=self.state, starts=starts, noise=self.noise
        )
        return values.cpu().numpy()

    def values_of_cut(self) -> list[float]:
        """Values of the last observations of episodes that were cut, in the rollout's order."""
        finals = self.rollout.finals
        if not finals:
            return []
        states = torch.cat([self.rollout.states[1:], self.state[None]])
        steps, envs = (list(where) for where in zip(*finals, strict=True))
        _, values, _ = self.agent.evaluate(
            torch.from_numpy(self.shown(np.stack(list(finals.values())), envs)).to(self.device),
            state=states[steps, envs],
            starts=torch.zeros(len(finals), dtype=torch.bool, device=self.device),
            noise=noise_of(self.noise, envs),
        )
        found: list[float] = values.tolist()
        return found

    def passes(self, every: int) -> bool:
        """Whether the last rollout passed a multiple of `every`; never where it is 0."""
        size = self.rollout.steps * self.num_envs * self.group.size
        return every > 0 and self.env_steps % every < size

    def start_from(self, init: str) -> None:
        """Take the weights of another run's checkpoint, or of a file of baselines' PPO2."""
        if not init.endswith(".joblib"):
            self.agent.load_weights(load_checkpoint(init))
            return
        image = subset(self.config, EnvConfig).observation_shape
        self.agent.take(read_baselines(init, image=image), init)
