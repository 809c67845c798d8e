"""The one shared environment: levels of console games under the Retro Contest's rules."""

from typing import TYPE_CHECKING

from experiment.package import lazily
from retro_env.registered import register_levels

if TYPE_CHECKING:
    from envs.contract import ended_episodes
    from retro_env.config import EnvConfig
    from retro_env.levels import Level, parse_levels
    from retro_env.make import make_contest_env, make_env, make_vec
    from retro_env.vector import RetroVectorEnv

__all__ = [
    "EnvConfig",
    "Level",
    "RetroVectorEnv",
    "ended_episodes",
    "make_contest_env",
    "make_env",
    "make_vec",
    "parse_levels",
]
__getattr__ = lazily(
    {
        "envs.contract": "ended_episodes",
        "retro_env.config": "EnvConfig",
        "retro_env.levels": "Level parse_levels",
        "retro_env.make": "make_contest_env make_env make_vec",
        "retro_env.vector": "RetroVectorEnv",
    }
)
register_levels()
