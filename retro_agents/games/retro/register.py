"""The levels as Gymnasium's environments: GAME/STATE-v0 of every split, and GAME/SPLIT-v0.

gymnasium.make("retro_agents:BrambleDash/BrambleWood.Act3-v0", render_mode="rgb_array")
gymnasium.make_vec("retro_agents:BrambleDash/train-v0", num_envs=64)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from retro_agents.contract.named import ENTRY_METADATA, METADATA, check_known, check_mode, rendered
from retro_agents.games.retro.levels import Level, rows_of
from retro_agents.games.retro.splits import SPLITS
from retro_agents.ground.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gymnasium.envs.registration import EnvSpec
    from gymnasium.vector import VectorEnv

    from retro_agents.games.retro.config import EnvConfig

REWARDS = {"reward_scale": 0.01, "backtracking": False}
"""Rewards under these names: a hundredth of the contest's, which suits the usual settings of
learners, so an episode's return is a hundredth of the score in this project's tables."""
FAMILIES = {
    "BrambleDash": ("bramble-train", "bramble-test"),
    "Sonic": ("sonic-train", "sonic-test", "sonic-custom-leaderboard", "sonic-custom-final"),
}
"""Namespace -> the project's splits. A user's own lists beside them are for --levels alone."""


def register_levels() -> None:
    """Register all levels and splits with Gymnasium; nothing slow is imported before one is
    made."""
    for family, splits in FAMILIES.items():
        for split in splits:
            _register(f"{family}/{split.partition('-')[2]}-v0", split)
            for level in rows_of(SPLITS / f"{split}.csv"):
                game = level.game.partition("-Genesis")[0]
                _register(f"{game}/{level.state}-v0", str(level))


def _register(name: str, levels: str) -> None:
    gymnasium.register(
        id=name,
        entry_point="retro_agents.games.retro.register:make_level",
        vector_entry_point="retro_agents.games.retro.register:make_levels",
        kwargs={"levels": levels, **REWARDS},
    )


class RandomLevel(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Begins each episode on one of several levels, drawn from the seed of the first reset."""

    def __init__(self, env: gymnasium.Env, levels: list[Any]) -> None:
        super().__init__(env)
        self.levels, self.draws = levels, np.random.default_rng()

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # as Gymnasium's wrappers have it
        """The name's, which makes this wrapper too."""
        return self.env.spec

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode; options["level"]: on this level."""
        if seed is not None:
            self.draws = np.random.default_rng([seed, 1])
        drawn = self.levels[self.draws.integers(len(self.levels))]
        return self.env.reset(seed=seed, options={"level": drawn, **(options or {})})


def make_level(
    levels: Sequence[Level | str] | Path | str, *, render_mode: str | None = None, **settings: Any
) -> gymnasium.Env:
    """Gymnasium's entry to `make_env`. levels: one, or several of which each episode plays one, as
    for `make_vec`. settings: fields of EnvConfig. Raises TypeError if one is unknown, ValueError if
    the render_mode is, or UserError if that needs a display and there is none."""
    from retro_agents.games.retro.make import as_levels, make_env

    check_mode(render_mode, ENTRY_METADATA)  # before an emulator is open, the only one
    config, found = config_of(settings), as_levels(levels)
    if not found:
        raise UserError("no levels: give one or more")
    env = make_env(found[0], config, others=found[1:])
    return rendered(RandomLevel(env, found) if len(found) > 1 else env, render_mode)


make_level.metadata = ENTRY_METADATA  # type: ignore[attr-defined]  # where Gymnasium looks


def make_levels(
    levels: Sequence[Level | str] | Path | str,
    *,
    num_envs: int,
    seed: int = 0,
    render_mode: str | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **settings: Any,
) -> VectorEnv:
    """Gymnasium's entry to `make_vec`. Arguments and errors are those of `make_level`, but a window
    is not opened.
    autoreset_mode: what follows the end of an episode, as in Gymnasium."""
    from retro_agents.contract.autoreset import Autoreset
    from retro_agents.games.retro.make import make_vec

    check_mode(render_mode, METADATA)
    mode = AutoresetMode(autoreset_mode)
    envs = make_vec(levels, config_of(settings), num_envs=num_envs, seed=seed)
    envs.render_mode = render_mode
    return envs if mode is AutoresetMode.SAME_STEP else Autoreset(envs, mode)


def config_of(settings: dict[str, Any]) -> EnvConfig:
    """The config with these fields. Raises TypeError if one is unknown."""
    from retro_agents.games.retro.config import EnvConfig
    from retro_agents.run.config import from_dict

    check_known(EnvConfig, settings, "levels")
    return from_dict(EnvConfig, settings)
