"""Agents that learn games from pixels: what they share, and what one needs to use them.

`load_agent` loads an agent, `make_env` and `make_vec` make environments of the Retro family, and
`gymnasium.make("retro_agents:BrambleDash/train-v0")` makes one by its name.
"""

from typing import TYPE_CHECKING, Any

from retro_agents.ground.requirements import check

check()

from retro_agents.games.procgen.register import register_games  # noqa: E402  after the check
from retro_agents.games.retro.register import register_levels  # noqa: E402

register_levels()
register_games()

if TYPE_CHECKING:
    from retro_agents.contract.envs import ended_episodes as ended_episodes
    from retro_agents.games.retro.config import EnvConfig as EnvConfig
    from retro_agents.games.retro.levels import Level as Level
    from retro_agents.games.retro.levels import parse_levels as parse_levels
    from retro_agents.games.retro.make import make_env as make_env
    from retro_agents.games.retro.make import make_vec as make_vec
    from retro_agents.games.retro.make import restore_env as restore_env
    from retro_agents.games.retro.make import save_env as save_env
    from retro_agents.run.checkpoint import load_agent as load_agent

HOMES = {
    "load_agent": "retro_agents.run.checkpoint",
    "EnvConfig": "retro_agents.games.retro.config",
    "Level": "retro_agents.games.retro.levels",
    "parse_levels": "retro_agents.games.retro.levels",
    "make_env": "retro_agents.games.retro.make",
    "make_vec": "retro_agents.games.retro.make",
    "save_env": "retro_agents.games.retro.make",
    "restore_env": "retro_agents.games.retro.make",
    "ended_episodes": "retro_agents.contract.envs",
}
"""Names of the public interface -> the module of each, imported when it is asked for."""
__all__ = [*HOMES]


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES, "__version__"})


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("retro-contest-agents")
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(HOMES[name]), name)
