"""The acting side of PPO2: pick actions, be saved, be loaded."""

from functools import partial
from pathlib import Path

from experiment.checkpoint import load_checkpoint
from nets.actor_critic import ActorCritic, make_trunk
from nets.baselines import read_baselines
from nets.heads import ActorCriticHead
from nets.initialise import xavier
from nets.net_agent import ActorCriticAgent
from nets.noisy import NoisyLinear, PlainLinear
from nets.recurrent import RecurrentCore
from ppo2.config import PPO2Config


def make_net(config: PPO2Config) -> ActorCritic:
    """An untrained net for that config, its weights drawn from torch's generator.

    But for xavier-all the heads are orthogonal as in openai/baselines, ppo2, the policy nearly
    uniform.
    """
    spec = config.env.spec()
    encoder, hidden = make_trunk(
        config.net,
        spec.observation_shape,
        initialisation=config.initialisation,
        linear=partial(NoisyLinear, sigma0=config.sigma0) if config.noisy else PlainLinear,
    )
    core, features = None, config.net.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, features, hidden=config.recurrent_hidden)
        features = core.features
    head = ActorCriticHead(features, actions=spec.actions, noisy=config.noisy, sigma0=config.sigma0)
    if config.initialisation == "xavier-all":
        xavier(head)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


class PPO2Agent(ActorCriticAgent[PPO2Config]):
    """Acts as actor-critics do; starts from weights of openai/baselines too."""

    name, config_type = "ppo2", PPO2Config
    same = "encoder, hidden, recurrent, noisy, actions, image and stack"
    make_net = staticmethod(make_net)

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint, or of a file of baselines' PPO2."""
        if not str(init).endswith(".joblib"):
            self.load_weights(load_checkpoint(init))
            return
        image = self.config.env.spec().observation_shape
        self.take(read_baselines(init, image=image), init)


build, load = PPO2Agent.build, PPO2Agent.load
