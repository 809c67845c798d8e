"""EnvPool's Procgen: environments of one game that step together in its threads."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import EXPLORATION
from retro_agents.ground.errors import UserError

Ints = NDArray[np.integer]


def open_pool(game: str, config: ProcgenConfig, seeds: Sequence[int]) -> Any:
    """EnvPool's environments of a game, one per seed (below 2^31), not yet reset.

    UserError: a library of the system is missing.
    """
    try:
        # A gym that it imports, and has no use of, would say that it is old.
        with contextlib.redirect_stderr(io.StringIO()):
            import envpool
            import envpool.procgen  # whose error the one above swallows
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
    """The mode, and Procgen's options by its own names."""
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
    """The environments of a game, which are the rows `rows` [n] of a vector environment.

    EnvPool cannot save a state, but an environment's future depends only on its seed, how often it
    was reset, and the actions since. With these `restore` goes on exactly.
    """

    def __init__(self, game: str, config: ProcgenConfig, rows: Ints, seeds: Sequence[int]) -> None:
        self.game, self.rows = game, rows
        self.envs = open_pool(game, config, seeds)
        self.on_its_way: Ints | None = None
        """Rows that `send` let step, and `receive` has not collected."""

    def ids(self, rows: Ints) -> NDArray[np.int32]:
        """EnvPool's numbers of some rows."""
        return np.searchsorted(self.rows, rows).astype(np.int32)

    def reset(self, rows: Ints) -> tuple[NDArray[np.uint8], list[str]]:
        """New episodes of these rows [k] -> first frames [k,3,64,64], levels."""
        frames, infos = self.envs.reset(self.ids(rows))
        order = np.argsort(infos["env_id"])
        return frames[order], [f"{self.game}:{seed}" for seed in infos["level_seed"][order]]

    def send(self, rows: Ints, actions: Ints) -> None:
        """Let these rows step."""
        assert self.on_its_way is None, "EnvPool takes one step at a time"
        self.on_its_way = rows
        self.envs.send(actions.astype(np.int32), self.ids(rows))

    def receive(self) -> tuple[Ints, NDArray[np.uint8], NDArray, NDArray, NDArray, Infos]:
        """What came of the step -> rows [k], in order, frames [k,3,64,64], rewards, terminated,
        truncated, infos, each [k]."""
        frames, rewards, terminated, truncated, infos = self.envs.recv()
        self.on_its_way = None
        ids, told = infos["env_id"], {"prev_level_complete": infos["prev_level_complete"]}
        if (np.diff(ids) < 0).any():  # never seen, and nowhere promised
            order = np.argsort(ids)
            frames, rewards, ids = frames[order], rewards[order], ids[order]
            terminated, truncated = terminated[order], truncated[order]
            told = {name: values[order] for name, values in told.items()}
        return self.rows[ids], frames, rewards, terminated, truncated, told
