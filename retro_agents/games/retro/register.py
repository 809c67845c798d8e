"""The levels as Gymnasium's environments: GAME/STATE-v0, of every split.

gymnasium.make("retro_agents:BrambleDash/BrambleWood.Act3-v0", render_mode="rgb_array")
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import gymnasium

from retro_agents.games.retro.rendering import METADATA
from retro_agents.games.retro.splits import SPLITS
from retro_agents.ground.errors import UserError

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from retro_agents.games.retro.config import EnvConfig


def register_levels() -> None:
    """Register all levels with Gymnasium; the emulator is imported only when one is made."""
    for split in sorted(SPLITS.glob("*.csv")):
        with split.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                game = row["game"].partition("-Genesis")[0]
                gymnasium.register(
                    id=f"{game}/{row['state']}-v0",
                    entry_point="retro_agents.games.retro.register:make_level",
                    vector_entry_point="retro_agents.games.retro.register:make_levels",
                    kwargs={"level": f"{row['game']}:{row['state']}"},
                )


def make_level(level: str, *, render_mode: str | None = None, **settings: Any) -> gymnasium.Env:
    """Gymnasium's entry to `make_env`. settings: fields of EnvConfig. Raises UserError."""
    from retro_agents.games.retro.make import make_env

    env = make_env(level, config_of(render_mode, settings))
    env.unwrapped.render_mode = render_mode
    return env


make_level.metadata = METADATA  # type: ignore[attr-defined]  # where Gymnasium looks


def make_levels(
    level: str, *, num_envs: int, seed: int = 0, render_mode: str | None = None, **settings: Any
) -> VectorEnv:
    """Gymnasium's entry to `make_vec`, of one level. Arguments and errors are those of
    `make_level`."""
    from retro_agents.games.retro.levels import parse_level
    from retro_agents.games.retro.make import make_vec

    config = config_of(render_mode, settings)
    envs = make_vec([parse_level(level)], num_envs=num_envs, config=config, seed=seed)
    envs.render_mode = render_mode
    return envs


def config_of(render_mode: str | None, settings: dict[str, Any]) -> EnvConfig:
    """The config of these settings. Raises UserError if one of them, or the mode, is unknown."""
    from retro_agents.games.retro.config import EnvConfig
    from retro_agents.run.config import from_dict

    if render_mode not in (None, *METADATA["render_modes"]):
        raise UserError(f"unknown render_mode {render_mode!r}; expected rgb_array or none")
    return from_dict(EnvConfig, settings)
