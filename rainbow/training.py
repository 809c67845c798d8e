"""All that changes during a run of Rainbow, and how it is saved and restored."""

import copy
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainbow.agent import RainbowAgent
from rainbow.config import RainbowConfig
from rainbow.learner import Learner, epsilon_ladder, linear
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.off_policy import OffPolicy
from retro_agents.ground.schedules import scheduled
from retro_agents.nets.transfer import follow, load_encoder
from retro_agents.run.checkpoint import Checkpoint
from retro_agents.run.optimiser import set_rate
from retro_agents.run.run import EndedEpisode

CLIPPED, ROWS = 0.1, 10
"""A warning is printed if more than this share of the targets, averaged over this number of rows
of metrics, lies outside the atoms."""


class Step(NamedTuple):
    """An agent step of N environments."""

    obs: NDArray[np.uint8]
    """[N,c,H,W]: only the newest frame of each observation before the step."""
    actions: NDArray[np.int64]
    """[N]; so are the following."""
    rewards: NDArray[np.floating]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_obs: Sequence[NDArray[np.uint8]]
    """N times [C,H,W], to be read where an episode ended; empty where none did."""
    episodes: list[dict[str, Any]]
    """The episodes that ended in this step."""
    first: int
    """Number of the first environment, counted over all players."""
    begins: bool
    """Whether it begins new episodes, instead of following these environments' last step."""
    losses: NDArray[np.float32] | None = None
    """Losses [K] of the transitions that the step completes, if an actor computed them."""


class Training(OffPolicy):
    """Rainbow's nets; counters and replay are `OffPolicy`'s."""

    name = "rainbow"
    agent_type, learner_type = RainbowAgent, Learner
    warned = False
    """Whether this process has warned of clipped targets."""

    def __init__(self, config: RainbowConfig, num_envs: int) -> None:
        super().__init__(config, num_envs)
        net = self.agent_type.make_net(config).to(self.device)
        self.agent = self.agent_type(net, config, device=str(self.device))
        self.learner = self.learner_type(net, config, device=self.device)
        self.clipped: deque[float] = deque(maxlen=ROWS)

    def epsilon(self) -> NDArray[np.float32] | None:
        """Rates of random actions now, [N]; None: the noise explores."""
        config = self.config
        if config.noisy:
            return None
        start, end = config.epsilon_start, config.epsilon_final
        rate = linear(start, end, step=self.env_steps, steps=config.epsilon_steps)
        return epsilon_ladder(rate, self.num_envs, exponent=config.epsilon_ladder)

    def update(self) -> None:
        """Draws a batch, learns from it, and sets its priorities."""
        config = self.config
        part = min(1.0, self.env_steps / max(1, config.run.timesteps))
        rate = config.learning_rate * scheduled(config.learning_rate_schedule, part)
        set_rate(self.learner.optimiser, rate)
        start, end = config.priority_beta, config.priority_beta_final
        steps = config.priority_beta_steps or config.run.timesteps
        self.learn(beta=linear(start, end, step=self.env_steps, steps=steps))

    def summary(self) -> dict[str, float]:
        """Returns the numbers of one row of metrics.csv. Warns on stderr, once, if the atoms cannot
        hold the returns."""
        values, config = super().summary(), self.config
        self.clipped.extend([values["clipped"]] if "clipped" in values else [])
        share = fmean(self.clipped) if len(self.clipped) == ROWS else 0.0
        if share > CLIPPED and not self.warned:
            self.warned = True
            print(
                f"warning: {share:.0%} of the targets are outside the atoms, --v-min "
                f"{config.v_min:g} to --v-max {config.v_max:g}, and are clipped to them: train "
                "with a wider range, or with rewards scaled down by --reward-scale",
                file=sys.stderr,
            )
        return values

    def start(self, init: Path | str | None, envs: VectorEnv | None) -> None:
        """Starts a run, from a checkpoint and with another's convolutions if they are given."""
        super().start(init, envs)
        if source := self.config.init_encoder:
            net, env = self.config.net, self.config.env
            load_encoder(self.agent.net.encoder, source, net, env=env)
            self.learner.copy_target()

    def add(self, step: Step) -> list[EndedEpisode]:
        """Remembers and counts a step. Returns the episodes that ended in it."""
        self.remember(step)
        return self.count(len(step.actions), step.episodes, first=step.first)

    def remember(self, step: Step) -> NDArray[np.float32] | None:
        """Adds a step to the replay. Returns the losses [K] that became the priorities of the
        transitions that it completes, if they do."""
        if step.begins:
            self.set_priorities(self.replay.cut(step.first + np.arange(len(step.actions))))
        return self.set_priorities(self.replay.add(*step[:6], first=step.first), step.losses)

    def set_priorities(
        self, complete: NDArray[np.int64], losses: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32] | None:
        """Sets the losses of new transitions [K] as their priorities, if the config says so, and
        returns them.

        losses: an actor's. If a block of the actor was lost, they belong to other transitions than
        those here: their number differs, and losses are computed anew.
        """
        if not self.config.initial_priorities or not len(complete):
            return losses
        if losses is None or len(losses) != len(complete):
            batch = self.replay.gather(complete, np.ones(len(complete), np.float32))
            losses = self.learner.priorities(batch)
        self.replay.update_priorities(complete, losses)
        return losses

    def take(self, saved: Checkpoint) -> None:
        """Takes a checkpoint's weights, mixed with fresh ones by init_shrink, because such a net
        learns something new faster. Source: Ash and Adams, arXiv:1910.08475."""
        fresh = copy.deepcopy(self.agent.net)
        self.agent.load_weights(saved)
        follow(self.agent.net, fresh, rate=1.0 - self.config.init_shrink)
        self.learner.copy_target()
