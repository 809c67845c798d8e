"""The acting side of IMPALA: pick actions, be saved, be loaded."""

from impala.config import ImpalaConfig
from nets.actor_critic import ActorCritic, make_trunk
from nets.heads import ActorCriticHead
from nets.net_agent import ActorCriticAgent
from nets.recurrent import RecurrentCore


def make_net(config: ImpalaConfig) -> ActorCritic:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    image, initialisation = spec.observation_shape, config.initialisation
    encoder, hidden = make_trunk(config.net, image, initialisation=initialisation)
    core, features = None, config.net.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, features, hidden=config.recurrent_hidden)
        features = core.features
    head = ActorCriticHead(features, actions=spec.actions)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


class ImpalaAgent(ActorCriticAgent[ImpalaConfig]):
    """Acts as actor-critics do."""

    name, config_type = "impala", ImpalaConfig
    same = "encoder, hidden, recurrent, actions, image and stack"
    make_net = staticmethod(make_net)


build, load = ImpalaAgent.build, ImpalaAgent.load
