"""All that changes during a run of TRPO, and how it is saved and restored."""

import numpy as np
from numpy.typing import NDArray

from retro_agents.experience.on_policy import OnPolicy
from retro_agents.ground.device import prepare_device
from retro_agents.ground.seeding import seed_everything
from trpo.agent import TRPOAgent
from trpo.config import TRPOConfig
from trpo.learner import Learner


class Training(OnPolicy):
    """TRPO's agent and learner; what plays is `OnPolicy`'s."""

    name = "trpo"
    agent_type, learner_type = TRPOAgent, Learner

    def __init__(self, config: TRPOConfig, num_envs: int) -> None:
        seed_everything(config.run.seed)
        device = prepare_device(config.run.device, threads=config.torch_threads)
        net = self.agent_type.make_net(config).to(device)
        agent = self.agent_type(net, config, device=str(device))
        super().__init__(agent, num_envs, return_gamma=config.gamma)
        self.learner = self.learner_type(net, config, device=device, group=self.group)

    def learn(self, obs: NDArray[np.uint8]) -> dict[str, float]:
        """Learns from the full rollout, which led to `obs`, and begins another. Returns metrics."""
        config, collector = self.config, self.collector
        rewards = collector.rewards(scaled=config.normalise_returns)
        advantages, explained = self.advantages(obs, rewards)
        epochs = collector.minibatches(config.epochs, count=config.minibatches)
        losses = self.learner.update(collector.rollout.batch(advantages), epochs)
        self.updates += 1
        collector.begin_rollout()
        own = {**losses, "updates": self.updates}
        return {"explained_variance": explained, **own, **collector.returns()}
