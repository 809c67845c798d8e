"""EnvPool's Procgen: environments of one game that step together in EnvPool's threads."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import EXPLORATION
from retro_agents.ground.errors import UserError

Ints = NDArray[np.integer]


def open_pool(game: str, config: ProcgenConfig, seeds: Sequence[int]) -> Any:
    """Opens EnvPool's environments of a game, one per seed (below 2^31), not yet reset.

    Raises UserError if a system library is missing.
    """
    try:
        # EnvPool imports gym without need, and gym would print a warning.
        with contextlib.redirect_stderr(io.StringIO()):
            import envpool
            import envpool.procgen  # the import above hides its error
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            raise
        raise UserError(
            f"EnvPool does not start: {error}; on Debian: apt-get install libgl1 libglib2.0-0"
        ) from None
    mode, options = options_of(game, config)
    return envpool.make_gymnasium(
        f"{game.capitalize()}{mode.capitalize()}-v0",
        num_envs=len(seeds),
        seed=list(seeds),
        num_threads=min(config.env_threads, len(seeds)),
        **options,
    )


def options_of(game: str, config: ProcgenConfig) -> tuple[str, dict[str, int | bool]]:
    """The mode, and the options by Procgen's own names."""
    mode, start, levels = config.distribution_mode, config.start_level, config.num_levels
    if mode == "exploration":
        mode, start, levels = "hard", EXPLORATION[game], 1
    return mode, {
        "start_level": start,
        "num_levels": levels,
        "use_backgrounds": config.backgrounds,
        "restrict_themes": config.restrict_themes,
        "use_monochrome_assets": config.monochrome,
        "use_generated_assets": config.generated_assets,
        "center_agent": config.centre_agent,
        "paint_vel_info": config.velocity_info,
    }


class Pool:
    """The environments of one game: the rows `rows` [n] of a vector environment.

    EnvPool cannot save a state, but an environment's future depends only on its seed, its number of
    resets, and the actions since. From these, `restore` resumes exactly.
    """

    def __init__(self, game: str, config: ProcgenConfig, rows: Ints, seeds: Sequence[int]) -> None:
        self.game, self.rows = game, rows
        self.envs = open_pool(game, config, seeds)
        self.on_its_way: Ints | None = None
        """Rows whose step `send` began, and `receive` has not collected."""

    def ids(self, rows: Ints) -> NDArray[np.int32]:
        """EnvPool's ids of some rows."""
        return np.searchsorted(self.rows, rows).astype(np.int32)

    def reset(self, rows: Ints) -> tuple[NDArray[np.uint8], list[str]]:
        """Begin new episodes in these rows [k]. Returns first frames [k,3,64,64] and levels."""
        frames, infos = self.envs.reset(self.ids(rows))
        order = np.argsort(infos["env_id"])
        return frames[order], [f"{self.game}:{seed}" for seed in infos["level_seed"][order]]

    def send(self, rows: Ints, actions: Ints) -> None:
        """Begin a step of these rows."""
        assert self.on_its_way is None, "EnvPool takes one step at a time"
        self.on_its_way = rows
        self.envs.send(actions.astype(np.int32), self.ids(rows))

    def receive(self) -> tuple[Ints, NDArray[np.uint8], NDArray, NDArray, NDArray, NDArray]:
        """Wait for the step. Returns rows [k], in order, frames [k,3,64,64], rewards, terminated,
        truncated and whether the level was completed, each [k]."""
        *columns, infos = self.envs.recv()
        self.on_its_way = None
        columns += [infos["prev_level_complete"].astype(bool)]
        rows = self.rows[infos["env_id"]]
        if (np.diff(rows) < 0).any():  # EnvPool does not promise the order
            order = np.argsort(rows)
            rows, *columns = (values[order] for values in (rows, *columns))
        return rows, *columns
