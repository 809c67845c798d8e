"""Procgen: sixteen games whose levels are made by a seed, on EnvPool."""

from procgen_env.config import ProcgenConfig
from procgen_env.games import GAMES, parse_games
from procgen_env.vector import ProcgenVectorEnv, make_vec

__all__ = ["GAMES", "ProcgenConfig", "ProcgenVectorEnv", "make_vec", "parse_games"]
