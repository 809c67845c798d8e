"""The memory of on-policy agents: a rollout of T steps of N environments, and its minibatches.

Images are moved to the learner's device once, to act on, and stay there as uint8. They are laid out
channels last, as the convolutions need them, so that no epoch has to do it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.nets.noisy import Noises, rows_of

SAVED = (
    *("obs", "states", "starts", "actions", "logp", "values", "rewards"),
    *("terminated", "ended", "progress", "levels"),
)
"""Arrays of an unfinished rollout in a checkpoint."""


@dataclass(frozen=True)
class Batch:
    """Rows to learn from, step by step: row t·N + n is step t of environment n of N.

    obs uint8 [T·N,H,W,C]; states [T·N,S] before each step; starts: whether an episode begins;
    chance [T·N,U]: random numbers from 0 to 1, if any are needed; noise: of a noisy net's layers,
    for each environment; own: whether the policy chose the action, if others were played too; all
    others [T·N], values and returns [T·N,V] where there are several. In a minibatch, states [N,S]
    are those before its first step, and noise is that of each row.
    """

    obs: Tensor
    states: Tensor
    starts: Tensor
    actions: Tensor
    logp: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    steps: int
    chance: Tensor | None = None
    noise: Noises | None = None
    own: Tensor | None = None

    def minibatch(self, indices: Tensor, advantages: Tensor) -> "Batch":
        """Select rows [L,K]: L consecutive steps of K environments. advantages [L,K] replace the
        batch's."""
        flat = indices.flatten()
        return Batch(
            obs=self.obs.index_select(0, flat),
            states=self.states[indices[0]],
            starts=self.starts[flat],
            actions=self.actions[flat],
            logp=self.logp[flat],
            values=self.values[flat],
            advantages=advantages.flatten(),
            returns=self.returns[flat],
            steps=len(indices),
            chance=None if self.chance is None else self.chance[flat],
            own=None if self.own is None else self.own[flat],
            noise=self.noise and rows_of(self.noise, flat % (len(self.obs) // self.steps)),
        )


def minibatches(
    rngs: Sequence[np.random.Generator], steps: int, *, count: int, length: int = 1
) -> list[NDArray[np.int64]]:
    """Split T steps of N environments into `count` minibatches: rows [L,K] of a `Batch`.

    Each environment's steps are shuffled by its own generator, in pieces of `length` consecutive
    steps, and every minibatch gets equally many from each. This balances levels, and processes that
    divide the environments make the same minibatches as one process. If a rollout is one piece,
    every minibatch gets one of each `count` neighbouring environments.
    """
    if steps == length and count > 1:
        drawn = np.array([rng.random() for rng in rngs]).reshape(-1, count)
        dealt = drawn.argsort(axis=1) + np.arange(0, len(rngs), count)[:, None]
        return [np.arange(steps)[:, None] * len(rngs) + envs for envs in dealt.T]
    pieces = np.stack([rng.permutation(steps // length) for rng in rngs], axis=1)  # [pieces,N]
    num_envs = len(rngs)
    rows = pieces * length * num_envs + np.arange(num_envs)
    later = np.arange(length)[:, None] * num_envs
    return [later + part.reshape(1, -1) for part in np.split(rows, count)]


Outcome = Sequence[Any]
"""A step's results besides observations: rewards, terminated, truncated, all [n], and infos."""


class Rollout:
    """T steps of N environments, filled step by step: `add_actions`, then `add_outcomes`."""

    def __init__(
        self,
        steps: int,
        num_envs: int,
        *,
        image: tuple[int, int, int],
        state_size: int = 0,
        values: int = 1,
        device: torch.device,
    ) -> None:
        """image: [C,H,W] of an observation. state_size: width of a recurrent state; 0: none.
        values: number of value functions."""
        channels, height, width = image
        shape = (steps, num_envs)

        def empty(*extra: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(*shape, *extra, dtype=dtype, device=device)

        self.steps, self.num_envs, self.device = steps, num_envs, device
        self.complete_steps = np.zeros(num_envs, np.int64)
        """Complete steps of each environment."""
        self.obs = empty(height, width, channels, dtype=torch.uint8)
        self.states = empty(state_size)
        self.actions = empty(dtype=torch.int64)
        self.logp, self.values = empty(), empty(*([values] if values > 1 else []))
        self.starts = np.zeros(shape, bool)
        self.rewards = np.zeros(shape, np.float32)
        self.progress = np.zeros(shape, np.float32)
        self.levels = np.zeros(shape, np.int64)
        self.terminated, self.ended = np.zeros(shape, bool), np.zeros(shape, bool)
        self.finals: dict[tuple[int, int], NDArray[np.uint8]] = {}
        """Last observation [C,H,W] of each truncated episode, by (step, environment)."""

    @property
    def filled(self) -> int:
        """Number of steps that are complete in every environment."""
        return int(self.complete_steps.min())

    def step_of(self, part: slice) -> int:
        """The current step of these environments; those of another part may be one ahead."""
        return int(self.complete_steps[part][0])

    @property
    def full(self) -> bool:
        """Whether the rollout is complete, and can be learned from."""
        return self.filled == self.steps

    def add_actions(
        self,
        images: Tensor,
        state: Tensor,
        starts: NDArray[np.bool_],
        actions: Tensor,
        logp: Tensor,
        values: Tensor,
        *,
        part: slice,
    ) -> None:
        """Store the next actions of the environments in `part`, all [n], with their inputs: images
        [n,C,H,W], states, and the starts of episodes."""
        t = self.step_of(part)
        self.obs[t, part] = images.permute(0, 2, 3, 1)
        self.states[t, part], self.starts[t, part] = state, starts
        self.actions[t, part], self.logp[t, part], self.values[t, part] = actions, logp, values

    def add_outcomes(
        self,
        outcome: Outcome,
        *,
        progress: NDArray[np.floating],
        levels: NDArray[np.int64],
        part: slice,
    ) -> None:
        """Store the outcome of these actions, which completes the step. All are [n], except
        infos["final_obs"]: N times [C,H,W], read only where an episode was truncated. progress: raw
        reward of the episode so far; levels: a number for each."""
        rewards, terminated, truncated, infos = outcome
        t = self.step_of(part)
        self.rewards[t, part] = rewards
        self.terminated[t, part], self.ended[t, part] = terminated, terminated | truncated
        self.progress[t, part], self.levels[t, part] = progress, levels
        for row in np.flatnonzero(truncated & ~terminated).tolist():
            env = range(self.num_envs)[part][row]
            self.finals[t, env] = np.array(infos["final_obs"][env])
        self.complete_steps[part] += 1

    def clear(self) -> None:
        """Start an empty rollout."""
        self.complete_steps[:] = 0
        self.finals.clear()

    def frames_reached(self, images: Tensor, channels: int) -> Tensor:
        """The newest frame, of `channels` channels, of the state that each step led to, after any
        reset: uint8 [T,N,H,W,channels]. images [N,C,H,W]: after the rollout."""
        last = images.permute(0, 2, 3, 1)
        return torch.cat([self.obs[1:, ..., -channels:], last[None, ..., -channels:]])

    def batch(self, advantages: NDArray[np.float32]) -> Batch:
        """The whole rollout, with its advantages [T,N], or [T,N,V] by each value function."""
        on_device = torch.from_numpy(advantages).to(self.device).flatten(0, 1)
        values = self.values.flatten(0, 1)
        return Batch(
            obs=self.obs.flatten(0, 1),
            states=self.states.flatten(0, 1),
            starts=torch.from_numpy(self.starts).to(self.device).flatten(),
            actions=self.actions.flatten(),
            logp=self.logp.flatten(),
            values=values,
            advantages=on_device,
            returns=on_device + values,
            steps=self.steps,
        )

    def arrays(self) -> dict[str, NDArray]:
        """An unfinished rollout, for a checkpoint: each array [N,…]; `restore` reads it back."""
        tensors = {name: torch.as_tensor(getattr(self, name))[: self.filled] for name in SAVED}
        return {name: array.cpu().numpy().swapaxes(0, 1) for name, array in tensors.items()}

    def restore(
        self,
        saved: Mapping[str, NDArray],
        finals: Sequence[tuple[int, int, bytes]],
        envs: slice,
    ) -> None:
        """Restore the part of `arrays` that belongs to the environments `envs`."""
        for name in SAVED:
            array = saved[name][envs].swapaxes(0, 1)
            torch.as_tensor(getattr(self, name))[: len(array)] = torch.from_numpy(array.copy())
        self.complete_steps[:] = len(array)  # all have as many steps
        _, _, height, width, channels = self.obs.shape
        for t, env, image in finals:
            if env in range(envs.start, envs.stop):
                pixels = np.frombuffer(image, np.uint8).reshape(channels, height, width)
                self.finals[t, env - envs.start] = pixels
