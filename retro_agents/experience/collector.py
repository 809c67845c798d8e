"""Collects rollouts for on-policy agents: the policy acts in many environments."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from math import prod
from typing import Any, final
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.contract.envs import VectorEnv, ended_episodes, row_seeds
from retro_agents.contract.policy import StochasticPolicy
from retro_agents.experience.detours import Detours
from retro_agents.experience.newest_frames import NewestFrames
from retro_agents.experience.return_scale import ReturnScale
from retro_agents.experience.rollouts import Batch, Outcome, Rollout, minibatches
from retro_agents.ground.device import memory_for
from retro_agents.ground.generators import generator_state
from retro_agents.ground.graphs import Graphed
from retro_agents.nets.actor_critic import sample_actions
from retro_agents.nets.noisy import Noises, rows_of
from retro_agents.run.distributed import Group
from retro_agents.run.run import EndedEpisode


@final
class Collector:
    """Plays rollouts, and holds all state that this changes, except the environments'.

    In a group, each process plays the environments `share`, numbered over all processes. Each
    environment has its own generator, so that the group plays the same as one process would.
    """

    def __init__(
        self,
        policy: StochasticPolicy,
        num_envs: int,
        *,
        rollout_steps: int,
        return_gamma: float,
        act_parts: int = 1,
        seed: int | None = None,
        graphs: bool = False,
        draw_noise: Callable[..., Noises] | None = None,
        values: int = 1,
        detour_after: int = 0,
    ) -> None:
        """num_envs: of this process. return_gamma: discount of the returns by whose deviation
        `return_scale` divides rewards. act_parts: groups of environments, see `play`. seed:
        replaces the run's. graphs: on a GPU, act by CUDA graphs on frames that are put together
        there. draw_noise: of a noisy net, see `ActorCritic`. values: number of value functions.
        detour_after: patience of `Detours`; 0: none."""
        self.policy, self.num_envs, self.device = policy, num_envs, policy.device
        self.settings, self.spec = policy.config.run, policy.config.env.spec()
        self.seed = self.settings.seed if seed is None else seed
        self.draw_noise = draw_noise
        self.noise: Noises | None = None
        self.env_steps = 0
        self.recent_returns: deque[float] = deque(maxlen=100)
        self.episodes: list[EndedEpisode] = []
        """Episodes of this process that are not yet reported."""
        self.group = Group()
        self.share = slice(self.group.rank * num_envs, (self.group.rank + 1) * num_envs)
        numbers = range(self.share.start, self.share.stop)
        self.rngs = [np.random.default_rng([self.seed, i]) for i in numbers]
        self.state = policy.no_state(num_envs)
        self.starts = np.ones(num_envs, bool)
        self.progress = np.zeros(num_envs)
        on_cpu = self.device.type == "cpu"
        with memory_for(
            f"rollouts of {rollout_steps} steps of {num_envs} environments",
            instead="give fewer --rollout-steps or --num-envs",
            size=on_cpu * rollout_steps * num_envs * prod(self.spec.observation_shape),
        ):
            self.rollout = Rollout(
                rollout_steps,
                num_envs,
                image=self.spec.observation_shape,
                state_size=self.state.shape[1],
                values=values,
                device=self.device,
            )
        ends = np.linspace(0, num_envs, min(act_parts, num_envs) + 1).astype(int).tolist()
        self.parts = [slice(*ends) for ends in pairwise(ends)]
        self.return_scale = ReturnScale(num_envs, gamma=return_gamma)
        self.graphs = graphs and not self.state.shape[1]
        self.choices: dict[tuple[int, int], Graphed] = {}
        self.frames: NewestFrames | None = None
        if self.graphs and NewestFrames.suits(self.spec):
            self.frames = NewestFrames(num_envs, self.spec, self.device)
        self.detours: Detours | None = None
        if detour_after:
            names = self.spec.action_names
            self.detours = Detours(
                detour_after, names=names, seed=self.seed, numbers=numbers, steps=rollout_steps
            )
        self.begin_rollout()

    @property
    def steps_per_rollout(self) -> int:
        """Agent steps of a rollout, over all processes."""
        return self.rollout.steps * self.num_envs * self.group.size

    def env_seeds(self) -> int | list[int | None]:
        """Seeds of this process's environments, the same as in a single process."""
        if self.group.size == 1:
            return int(self.seed)
        return [*row_seeds(self.seed, self.share.stop)[self.share]]

    def steps_to_play(self) -> int:
        """Steps until the rollout is full or the run is over."""
        left = self.settings.timesteps - self.env_steps
        left = -(-left // (self.num_envs * self.group.size))
        return int(min(self.rollout.steps - self.rollout.filled, left))

    def part_of_run(self) -> float:
        """The share of the run before this rollout, 0 to 1."""
        return max(0.0, (self.env_steps - self.steps_per_rollout) / self.settings.timesteps)

    def begin_rollout(self) -> None:
        """Draw a rollout's random numbers, each environment's from its own generator."""
        self.rollout.clear()
        self.generator_states = [generator_state(rng) for rng in self.rngs]
        draws = [rng.random(self.rollout.steps, np.float32) for rng in self.rngs]
        self.uniforms = torch.from_numpy(np.stack(draws, axis=1)).to(self.device)
        if self.draw_noise is not None:
            self.noise = self.draw_noise(self.rngs, self.device)

    def play(
        self,
        envs: VectorEnv,
        obs: NDArray[np.uint8],
        *,
        on_step: Callable[[int], None] = lambda env_steps: None,
    ) -> NDArray[np.uint8]:
        """Fill the rollout from `obs` on, up to the end of the run. Returns the last observations.

        The emulators of one part run while the next actions of another are chosen: a part waits
        only for its own emulators. on_step: takes env_steps after each step.
        """
        if self.frames is not None and obs.shape[1] > self.spec.channels:
            envs.send_newest_frames()
            obs = self.frames.begin(obs)
        obs, steps = self.own_copy(obs), self.steps_to_play()
        with self.policy.autocast():
            for step in range(steps + 1):
                for part in self.parts:
                    if step > 0:
                        seen, *outcome = envs.step_wait(part)
                        obs[part] = seen[:, -obs.shape[1] :]
                        self.add(outcome, levels=envs.levels[part], part=part)
                    if step < steps:
                        envs.step_async(self.act(obs[part], part), part)
                if step > 0:
                    on_step(self.env_steps)
        return obs

    def ended_episodes(self) -> list[EndedEpisode]:
        """The episodes that have ended since the last call, in all processes, in order."""
        ended = sorted(chain(*self.group.gather(self.episodes)), key=lambda one: one[:2])
        self.episodes.clear()
        self.recent_returns.extend(episode["r"] for _, _, episode in ended)
        return ended

    def returns(self) -> dict[str, float]:
        """Metrics of the last hundred episodes."""
        if not (recent := self.recent_returns):
            return {}
        ends = {"min_return": min(recent), "max_return": max(recent)}
        return {"mean_return": float(np.mean(recent)), **ends}

    def detour_share(self) -> dict[str, float]:
        """The share of the rollout's steps that detours took, as a metric; none without any."""
        if self.detours is None:
            return {}
        shares = self.group.gather(float(self.detours.taken.mean()))
        return {"detours": float(np.mean(shares))}

    def minibatches(
        self, epochs: int, *, count: int, length: int = 1
    ) -> list[list[NDArray[np.int64]]]:
        """The rollout, shuffled for each epoch into minibatches, see `rollouts.minibatches`."""
        drawn = partial(minibatches, self.rngs, self.rollout.steps, count=count, length=length)
        return [drawn() for _ in range(epochs)]

    def own_copy(self, obs: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A copy of observations, pinned where a GPU will read them."""
        if self.device.type == "cpu":
            return obs.copy()
        copy: NDArray[np.uint8] = torch.from_numpy(obs).pin_memory().numpy()
        return copy

    def on_device(self, array: NDArray[Any]) -> Tensor:
        """An array, on the device."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def images(self, obs: NDArray[np.uint8]) -> Tensor:
        """Moves observations [n,C,H,W] to the device, channels last; or the newest frames
        [N,c,H,W] of all environments, with those before them."""
        if self.frames is None or obs.shape[1] > self.spec.channels:
            return self.on_device(obs).contiguous(memory_format=torch.channels_last)
        whole = slice(0, self.num_envs)
        shown = self.frames.after(self.on_device(obs), self.on_device(self.starts), whole)
        return shown.permute(0, 3, 1, 2)

    def act(self, obs: NDArray[np.uint8], part: slice) -> NDArray[np.int64]:
        """Chooses actions for the environments in `part`, and stores both in the rollout. obs uint8
        [n,C,H,W], or [n,c,H,W] where frames are put together on the device -> actions [n]."""
        key = part.start, part.stop
        if key not in self.choices:
            self.choices[key] = Graphed(partial(self.choose, part), self.device, on=self.graphs)
        images, actions, logp, values, after = self.choices[key](
            torch.from_numpy(obs),
            torch.from_numpy(self.starts[part]),
            self.state[part],
            self.uniforms[self.rollout.step_of(part), part],
        )
        if self.detours is not None:
            chosen, step = actions.cpu().numpy(), self.rollout.step_of(part)
            actions = self.on_device(self.detours.overrule(chosen, part, step=step))
        before, starts = self.state[part], self.starts[part]
        self.rollout.add_actions(images, before, starts, actions, logp, values, part=part)
        self.state[part] = after
        return actions.cpu().numpy()

    def choose(
        self, part: slice, obs: Tensor, starts: Tensor, state: Tensor, uniforms: Tensor
    ) -> tuple[Tensor, ...]:
        """Chooses actions, all [n] -> images [n,C,H,W], actions, their log-probabilities, values
        and the new state."""
        obs = obs.to(self.device, non_blocking=True)
        starts = starts.to(self.device, non_blocking=True)
        if self.frames is None:
            images = obs.contiguous(memory_format=torch.channels_last)
        else:
            newest = obs[:, -self.spec.channels :]
            images = self.frames.add(newest, starts, part).permute(0, 3, 1, 2)
        log_probs, values, after = self.evaluate(images, part, state=state, starts=starts)
        actions = sample_actions(log_probs, uniforms)
        logp = log_probs.gather(1, actions[:, None]).squeeze(1)
        return images, actions, logp, values, after

    def add(self, outcome: Outcome, *, levels: Sequence[str], part: slice) -> None:
        """Store the outcome of that part's actions, [n], and count the step and its ended episodes.
        infos are of all environments; levels [n] are those played from now on. env_steps grow when
        the last part has stepped."""
        rewards, terminated, truncated, infos = outcome
        env_steps = self.env_steps + self.num_envs * self.group.size
        self.progress[part][self.starts[part]] = 0.0
        self.progress[part] += rewards / self.spec.reward_scale
        self.starts[part] = ended = terminated | truncated
        if self.detours is not None:
            step, progress = self.rollout.step_of(part), self.progress[part]
            self.detours.look(part, step=step, progress=progress, ended=ended)
        for episode in ended_episodes(infos):
            self.episodes.append((env_steps, self.share.start + episode["env"], episode))
        if part.stop == self.num_envs:
            self.env_steps = env_steps
        self.rollout.add_outcomes(
            outcome,
            progress=self.progress[part],
            levels=np.array([crc32(level.encode()) for level in levels]),
            part=part,
        )

    def chance(self, count: int) -> Tensor:
        """Draws `count` numbers from 0 to 1 for each row of the rollout's batch, [T·N,count], each
        environment's from its own generator."""
        shape = self.rollout.steps, count
        drawn = np.stack([rng.random(shape, np.float32) for rng in self.rngs], axis=1)
        return torch.from_numpy(drawn).to(self.device).flatten(0, 1)

    def rewards(self, *, scaled: bool) -> NDArray[np.float32]:
        """The rollout's rewards [T,N]; scaled: divided by the deviation of returns so far."""
        rewards: NDArray[np.float32] = self.rollout.rewards
        return self.return_scale(rewards, self.rollout.ended, self.group) if scaled else rewards

    def batch(self, advantages: NDArray[np.float32]) -> Batch:
        """The rollout to learn from, see `Rollout.batch`, with its noise and detours."""
        own = None
        if self.detours is not None:
            own = self.on_device(~self.detours.taken).flatten()
        return replace(self.rollout.batch(advantages), noise=self.noise, own=own)

    def evaluate(
        self, images: Tensor, rows: Any, *, state: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The policy's `evaluate` of images [n,C,H,W] of some environments, with their noise. rows:
        a slice, or their numbers."""
        noise = {} if self.noise is None else {"noise": rows_of(self.noise, rows)}
        return self.policy.evaluate(images, state=state, starts=starts, **noise)
