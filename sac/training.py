"""All that changes during a run of SAC, and how it is saved and restored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.experience.actors import actor_seed
from retro_agents.experience.off_policy import OffPolicy
from sac.agent import SACAgent
from sac.config import SACConfig
from sac.learner import Learner


class Training(OffPolicy):
    """SAC's nets; counters and replay are `OffPolicy`'s."""

    name = "sac"
    agent_type, learner_type = SACAgent, Learner

    def __init__(self, config: SACConfig, num_envs: int) -> None:
        super().__init__(config, num_envs)
        net = self.agent_type.make_net(config).to(self.device)
        self.agent = self.agent_type(net, config, device=str(self.device))
        self.learner = self.learner_type(net, config, device=self.device)

    def begin(self, envs: Any) -> NDArray[np.uint8]:
        """Begins new episodes. Returns the first observations."""
        self.replay.cut(np.arange(self.num_envs))
        obs, _ = envs.reset(seed=actor_seed(self.config.run.seed, 0, self.env_steps))
        return obs
