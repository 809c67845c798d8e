"""One level without an emulator, for an agent or with the contest's interface."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded

from retro_agents.contract.envs import check_options
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import mask_of, metadata_of
from retro_agents.games.retro.emulator import BUTTON_NAMES, BUTTONS
from retro_agents.games.retro.engine import POINTS, Cartridge, cartridge, pads_of
from retro_agents.games.retro.levels import Level, parse_level
from retro_agents.games.retro.native_rows import Rows
from retro_agents.ground.errors import UserError


class NativeEnv(gymnasium.Env[np.ndarray, Any]):
    """One level for an agent, the same as with make_env's wrappers; infos lack the variable that
    measures the console's own time (engine.CONSOLE_ONLY)."""

    render_mode: str | None

    def __init__(
        self,
        level: Level,
        config: EnvConfig,
        *,
        record_dir: Path | None,
        others: Sequence[Level] = (),
        pictures: bool = True,
        found: Cartridge | None = None,
    ) -> None:
        """others: further levels that a reset may name. pictures: whether to draw observations
        (Games). found: has all levels; by default the installed cartridge of their games."""
        levels = [level, *others]
        shape = config.spec().observation_shape
        self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(config.actions)
        self.metadata = metadata_of(config.frame_skip)
        self.render_mode = "rgb_array"
        self.rows = Rows(
            [levels],
            first=0,
            config=config,
            rotate_every=0,
            record_dirs=[record_dir] if record_dir else (),
            cartridge=found or cartridge(*sorted({each.game for each in levels})),
            pictures=pictures,
        )
        self.scale = POINTS * config.reward_scale
        self.game = self.rows.games.game[0]
        self.closed = False
        self.reset_error = "call reset() before the first step"

    def info(self) -> dict[str, Any]:
        """The values of the integration's variables, and the level."""
        return {**self.rows.games.variables(0), "level": str(self.rows.levels[0])}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Returns the first observation; infos name the level, and report a cut episode."""
        check_options(options, "level")
        super().reset(seed=seed)
        if self.closed:
            raise ResetNeeded(self.reset_error)
        game, rows = self.game, self.rows
        level = (options or {}).get("level", rows.levels[0])
        level = parse_level(level) if isinstance(level, str) else level
        if level not in rows.games.cartridge.acts:
            raise UserError(f"{level} is not a level of this environment's game")
        self.reset_error = ""
        cut = {}
        if game["steps"] and not (game["terminated"] or game["truncated"]):
            cut = {"episode_record": rows.episode(0)}
        if seed is not None:
            rows.games.seed(0, self.np_random)
        rows.start(0, level)
        return rows.games.observations[0].copy(), {**self.info(), **cut}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One agent step. Raises ResetNeeded before a reset or after close, or InvalidAction."""
        if self.reset_error:
            raise ResetNeeded(self.reset_error)
        action, last = operator.index(action), self.rows.config.actions - 1
        if not 0 <= action <= last:
            raise InvalidAction(f"action {action}: expected 0 to {last}")
        game, rows = self.game, self.rows
        game["action"] = action
        rows.games.advance()
        if rows.recorders:
            frames = int(game["frames"])
            rows.recorders[0].step(action, stuck=bool(game["stuck"]), frames=frames)
        info = self.info()
        terminated, truncated = bool(game["terminated"]), bool(game["truncated"])
        if terminated or truncated:
            info["episode_record"] = rows.episode(0)
        obs = rows.games.observations[0].copy()
        return obs, float(game["gain"]) * self.scale, terminated, truncated, info

    def episode(self) -> dict[str, Any]:
        """The record of the episode so far, see `episode_record`."""
        return self.rows.episode(0)

    def render(self) -> np.ndarray | None:
        """The current screen, uint8 [224, 320, 3]; None without a render_mode, as in Gymnasium."""
        return self.rows.games.screen(0) if self.render_mode else None

    def save(self) -> dict[str, Any]:
        """The state that the next step depends on; `make.save_env` calls this."""
        if self.reset_error:
            raise ResetNeeded(self.reset_error)
        return self.rows.save(0)

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue exactly where `save` was called."""
        if self.closed:
            raise ResetNeeded(self.reset_error)
        self.rows.restore(0, saved)
        self.reset_error = ""

    def __getstate__(self) -> Any:
        raise TypeError(
            "this environment cannot be copied or pickled: make another, and give it the state by "
            "retro_agents.save_env and restore_env"
        )

    def close(self) -> None:
        """Write the recording."""
        self.closed, self.reset_error = True, "this environment is closed: make another"
        self.rows.close()


class NativeContestEnv(gymnasium.Wrapper):
    """One level under the contest's rules, with ContestEnv's interface: buttons -> screens."""

    def __init__(
        self,
        level: Level,
        config: EnvConfig,
        *,
        record_dir: Path | None,
        found: Cartridge | None = None,
    ) -> None:
        config = config.with_raw_rewards()
        self.native = NativeEnv(level, config, record_dir=record_dir, pictures=False, found=found)
        super().__init__(self.native)
        self.action_space = gymnasium.spaces.MultiBinary(BUTTONS)
        self.observation_space = gymnasium.spaces.Box(0, 255, (224, 320, 3), np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Returns the first screen; infos name the level."""
        _, info = self.native.reset(seed=seed, options=options)
        info.pop("episode_record", None)  # the contest's environment reports none
        return self.native.rows.games.screen(0), info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold the buttons as the engine's first action. Raises ResetNeeded before a reset."""
        held, rows = allowed(mask_of(action)), self.native.rows
        rows.games.settings["pads"][0] = pads_of(held)
        for recorder in rows.recorders:
            recorder.actions = (held,)
        _, reward, terminated, truncated, info = self.native.step(0)
        info.pop("episode_record", None)
        return rows.games.screen(0), reward, terminated, truncated, info


GROUPS = [
    {sum(1 << BUTTON_NAMES.index(name) for name in held.split()) for held in group}
    for group in (
        ("", "UP", "DOWN"),
        ("", "LEFT", "RIGHT"),
        ("", *"ABCXYZ", "A B", "B C", "A X", "B Y", "C Z", "X Y", "Y Z"),
    )
]
"""For each group of buttons, masks of those that may be held at once: stable-retro's Genesis
`actions`."""


@functools.cache
def allowed(mask: int) -> str:
    """The names of a mask's buttons that the emulator's filter allows: no opposite directions, no
    START or MODE, and those of A, B, C, X, Y, Z that a thumb can hold."""
    kept = 0
    for group in GROUPS:
        part = mask & functools.reduce(operator.or_, group)
        kept |= part if part in group else 0
    return " ".join(name for i, name in enumerate(BUTTON_NAMES) if kept >> i & 1)
