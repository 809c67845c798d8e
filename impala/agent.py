"""The acting side of IMPALA: pick actions, be saved, be loaded."""

from impala.config import ImpalaConfig
from retro_agents.nets.net_agent import ActorCriticAgent


class ImpalaAgent(ActorCriticAgent[ImpalaConfig]):
    """Acts as actor-critics do."""

    name, config_type = "impala", ImpalaConfig


build, load = ImpalaAgent.build, ImpalaAgent.load
