"""Self-imitation: actions of earlier episodes are learned where they returned more than expected.

Source: Oh et al., arXiv:1806.05635; ALPHA, BETA, VALUE_WEIGHT and LARGEST_GAIN are those of its
authors' program. Differs from that program: the loss is a mean over all drawn steps, as in the
paper, not over those that gain; it has no entropy bonus, and cuts neither priorities nor errors of
the values at LARGEST_GAIN; episodes that earn nothing are remembered too; new steps get their
priorities by the values with which they were played.
"""

from math import inf, prod

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ppo2.config import PPO2Config
from retro_agents.experience.advantages import returns_to_go
from retro_agents.experience.off_policy import BYTES_BESIDE_FRAME
from retro_agents.experience.replay import SLOT_FIELDS, Batch, Replay
from retro_agents.experience.rollouts import Rollout
from retro_agents.ground.device import memory_for

ALPHA, EPSILON, BETA = 0.6, 1e-5, 0.1
"""Priorities are (gain + EPSILON)^ALPHA; BETA is the exponent of importance weights."""
VALUE_WEIGHT = 0.01
LARGEST_GAIN = 1.0
"""Of an action, in its loss."""


def self_imitation(logp: Tensor, values: Tensor, returns: Tensor) -> tuple[Tensor, Tensor]:
    """Losses of actions with these log-probabilities, and their gains max(R − V, 0): all [B].
    Source: Oh et al., eq. 2 and 3."""
    gains = (returns - values).clamp(min=0.0)
    imitated = -logp * gains.detach().clamp(max=LARGEST_GAIN)
    return imitated + VALUE_WEIGHT * 0.5 * gains.square(), gains.detach()


class Imitation(Replay):
    """The newest steps. Those of ended episodes can be drawn, with their returns: the discounted
    sums of rewards up to the episode's end, also where it was truncated."""

    slot_fields = (*SLOT_FIELDS, "values", "returns")

    def __init__(self, config: PPO2Config, num_envs: int) -> None:
        """Raises UserError if there is no memory for it."""
        spec, size = config.env.spec(), config.self_imitation_size
        frame, reach = (spec.channels, *spec.observation_shape[1:]), max(spec.steps_back)
        self.longest = size // num_envs - reach - 2
        """Newest steps of an episode that can be drawn when it ends."""
        what = f"a memory of {size:,} steps"
        advice = "give a smaller --self-imitation-size"
        used = min(size, config.run.timesteps) * (prod(frame) + BYTES_BESIDE_FRAME)
        with memory_for(what, instead=advice, size=used):
            super().__init__(
                size,
                num_envs,
                frame_shape=frame,
                steps_back=spec.steps_back,
                n_step=1,
                gamma=config.gamma,
                alpha=ALPHA,
                epsilon=EPSILON,
            )
            self.values = np.zeros(len(self.actions), np.float32)
            self.returns = np.zeros(len(self.actions), np.float32)
        self.gamma = config.gamma
        self.rng = np.random.default_rng([config.run.seed, num_envs])

    def remember(self, rollout: Rollout, *, scale: float, limit: float = inf) -> None:
        """Adds a rollout. scale: divides its rewards where values are learned, which are then cut
        at ± limit."""
        earned = rollout.rewards.clip(-limit * scale, limit * scale)
        frames = rollout.obs[..., -self.frames.shape[1] :].permute(0, 1, 4, 2, 3).cpu().numpy()
        actions = rollout.actions.cpu().numpy()
        values = rollout.values.view(*actions.shape, -1)[..., 0].cpu().numpy()  # of the rewards
        rings = np.arange(self.num_envs) * self.slots
        for t, ended in enumerate(rollout.ended):
            slots, ages = self.heads.copy(), self.episode_ages.copy()
            self.values[rings + slots] = values[t]
            terminated, truncated = rollout.terminated[t], ended & ~rollout.terminated[t]
            complete = self.add(frames[t], actions[t], earned[t], terminated, truncated, frames[t])
            self.tree.set(complete, 0.0)  # until the episode has ended
            for env in np.flatnonzero(ended):
                back = np.arange(min(ages[env] + 1, self.longest))
                where = rings[env] + (slots[env] - back) % self.slots
                earlier_first = self.rewards[where][::-1]
                self.returns[where] = returns_to_go(earlier_first, gamma=self.gamma)[::-1]
                self.update_priorities(where, self.returns[where] / scale - self.values[where])

    def draw(self, count: int) -> tuple[Batch, NDArray[np.float32]] | None:
        """Draws so many steps and their returns [count]; None while no episode has ended."""
        if self.tree.total <= 0.0:
            return None
        batch = self.sample(count, beta=BETA, rng=self.rng)
        return batch, self.returns[batch.indices]
