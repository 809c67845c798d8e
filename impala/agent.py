"""The acting side of IMPALA: pick actions, be saved, be loaded."""

from impala.config import ImpalaConfig
from nets.actor_critic import ActorCritic
from nets.encoders import make_encoder, parse_widths
from nets.heads import ActorCriticHead
from nets.initialise import initialiser
from nets.net_agent import ActorCriticAgent
from nets.noisy import PlainLinear
from nets.recurrent import RecurrentCore


def make_net(config: ImpalaConfig) -> ActorCritic:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    encoder = make_encoder(
        config.encoder,
        spec.observation_shape,
        widths=parse_widths(config.widths),
        pool=config.pool,
    )
    initialise = initialiser(config.initialisation)
    if config.initialisation != "default" or config.encoder in ("nature", "data-efficient"):
        initialise(encoder)
    hidden = PlainLinear(encoder.features, config.hidden)
    initialise(hidden)
    core, features = None, config.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, config.hidden, hidden=config.recurrent_hidden)
        features = core.features
    head = ActorCriticHead(features, actions=spec.actions)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


class ImpalaAgent(ActorCriticAgent[ImpalaConfig]):
    """Acts as actor-critics do."""

    name, config_type = "impala", ImpalaConfig
    same = "encoder, hidden, recurrent, actions, image and stack"
    make_net = staticmethod(make_net)


build, load = ImpalaAgent.build, ImpalaAgent.load
