"""The contest's environment: buttons in, screens out, with its sticky frame skip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded

from retro_agents.contract.envs import check_options
from retro_agents.contract.named import METADATA
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.emulator import BUTTONS, Emulator
from retro_agents.games.retro.levels import Level, parse_level
from retro_agents.ground.generators import generator_state, set_generator_state

FRAMES_PER_SECOND = 60


def metadata_of(frame_skip: int) -> dict[str, Any]:
    """Gymnasium's metadata about pictures, of which each agent step gives one."""
    return {**METADATA, "render_fps": FRAMES_PER_SECOND / frame_skip}


def fold(buttons: np.ndarray | Sequence[int]) -> int:
    """Buttons [n] of 0 or 1 -> one number, lowest bit first."""
    held = np.packbits(np.asarray(buttons) != 0, bitorder="little")
    return int.from_bytes(held.tobytes(), "little")


def mask_of(action: Any) -> int:
    """The buttons of an action as one number. Raises InvalidAction unless it has one for each."""
    given = np.asarray(action)
    if given.shape != (BUTTONS,) or given.dtype.kind not in "biu":
        raise InvalidAction(f"{action!r}: expected {BUTTONS} buttons of 0 or 1")
    return fold(given)


class ContestEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One level under the contest's rules: MultiBinary(12) -> uint8 screen [H, W, 3].

    A step holds the buttons for `frame_skip` frames, or until the episode ends, and returns the sum
    of rewards and the last screen. Sticky: on a step's first frame the previous buttons stay with
    `stick_probability`, except on the first step after a reset.
    Source: openai/retro-contest, StochasticFrameSkip. Same draws: one uniform number per step.
    """

    render_mode: str | None

    def __init__(self, level: Level, config: EnvConfig, *, record_dir: Path | None) -> None:
        self.emulator = Emulator(level, scenario=config.scenario, record_dir=record_dir)
        self.frame_skip = config.frame_skip
        self.stick_probability = config.stick_probability
        self.metadata = metadata_of(config.frame_skip)
        self.render_mode = "rgb_array"
        screen = self.emulator.screen()
        self.observation_space = gymnasium.spaces.Box(0, 255, screen.shape, np.uint8)
        self.action_space = gymnasium.spaces.MultiBinary(BUTTONS)
        self.held: int | None = None
        self.reset_error = "call reset() before the first step"
        self.on_frame: Callable[[], object] | None = None
        """Called after every frame, for whoever shows them all."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Returns the first screen. options["level"]: the level to play, or its name."""
        if self.emulator.retro is None:
            raise ResetNeeded(self.reset_error)
        check_options(options, "level")
        super().reset(seed=seed)
        if options is not None and "level" in options:
            level = options["level"]
            self.emulator.load(parse_level(level) if isinstance(level, str) else level)
        self.emulator.reset()
        self.held, self.reset_error = None, ""
        return self.emulator.screen(), self.info()

    def info(self) -> dict[str, Any]:
        """The values of the integration's variables, and the level."""
        return {**self.emulator.variables(), "level": str(self.emulator.level)}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Returns (screen, summed reward, terminated, False, infos). Raises ResetNeeded before a
        reset, or after close."""
        if self.reset_error:
            raise ResetNeeded(self.reset_error)
        reward, done = self.run(mask_of(action))
        return self.emulator.screen(), reward, done, False, self.info()

    def run(self, mask: int) -> tuple[float, bool]:
        """Run up to `frame_skip` frames by the sticky rule. Returns (summed reward, done)."""
        total = 0.0
        for substep in range(self.frame_skip):
            may_stick = substep == 0 and self.held is not None
            sticks = may_stick and self.np_random.random() <= self.stick_probability
            if self.held is None or (substep <= 1 and not sticks):
                self.held = mask
            reward, done = self.emulator.frame(self.held)
            total += reward
            if self.on_frame is not None:
                self.on_frame()
            if done:
                return total, True
        return total, False

    def render(self) -> np.ndarray | None:
        """The current screen, uint8 [H, W, 3]; None without a render_mode, as in Gymnasium."""
        return self.emulator.screen() if self.render_mode else None

    def save(self) -> dict[str, Any]:
        """The state that the next step depends on."""
        return {
            "emulator": self.emulator.save(),
            "held": self.held,
            "random": generator_state(self.np_random),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue exactly where `save` was called."""
        self.emulator.restore(saved["emulator"])
        self.held, self.reset_error = saved["held"], ""
        set_generator_state(self.np_random, saved["random"])

    def close(self) -> None:
        """Free this process's one emulator."""
        self.emulator.close()
        self.reset_error = "this environment is closed: make another"
