"""The acting side of PPO2: pick actions, be saved, be loaded."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from torch import Tensor, nn

from ppo2.config import PPO2Config
from retro_agents.nets.actor_critic import ActorCritic, make_actor_critic
from retro_agents.nets.baselines import read_baselines
from retro_agents.nets.net_agent import ActorCriticAgent
from retro_agents.nets.noisy import NoisyLinear
from retro_agents.nets.transfer import check_encoder


def make_net(config: PPO2Config) -> ActorCritic:
    """An untrained net for that config, see `make_actor_critic`."""
    linear = partial(NoisyLinear, sigma0=config.sigma0) if config.noisy else nn.Linear
    return make_actor_critic(config, values=2 if config.bonus_apart else 1, linear=linear)


class PPO2Agent(ActorCriticAgent[PPO2Config]):
    """Acts as actor-critics do, without noise; starts from weights of openai/baselines too."""

    name, config_type = "ppo2", PPO2Config
    fits = MappingProxyType({"noisy": False, "rnd_values": "two"})  # see `take`
    make_net = staticmethod(make_net)

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint, or of a file of baselines' PPO2."""
        if not str(init).endswith(".joblib"):
            super().start_from(init)
            return
        check_encoder({}, vars(self.config.net), source=init)
        image = self.config.env.spec().observation_shape
        self.take(read_baselines(init, image=image), init)

    def take(
        self, weights: Mapping[str, Tensor], source: Path | str, *, flags: Sequence[str] = ()
    ) -> None:
        """Take a net's weights. If this net has one value function and the other two, only that of
        the rewards is taken; if the other has no noise, noisy layers keep their own."""
        own = self.net.state_dict()
        noise = {name: value for name, value in own.items() if name.endswith("_sigma")}
        if not self.config.bonus_apart:
            weights = {n: w[:1] if n.startswith("head.value.") else w for n, w in weights.items()}
        super().take({**noise, **weights}, source, flags=flags)


build, load = PPO2Agent.build, PPO2Agent.load
