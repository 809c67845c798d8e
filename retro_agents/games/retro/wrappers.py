"""The wrappers between the contest's environment and an agent; `make.py` puts them in order.

Each wrapper that has state between steps defines `save` and `restore`. The sticky frame skip is
part of the contest's environment, in `contest_env.py`.
"""

from __future__ import annotations

from functools import partial
from operator import index
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction

from retro_agents.games.retro.config import ACTIONS
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.levels import Level

Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]

CONTEST_PROGRESS = 9000.0
"""The contest's reward from a level's start to its end."""


class Stateful(gymnasium.Wrapper):
    """A wrapper with state between steps, saved as a dict for msgpack."""

    saved_names: tuple[str, ...] = ()
    """Names of the state's attributes."""

    def save(self) -> dict[str, Any]:
        """The state from which `restore` resumes exactly."""
        return {name: getattr(self, name) for name in self.saved_names}

    def restore(self, saved: dict[str, Any]) -> None:
        """Resume where `save` was called."""
        for name in self.saved_names:
            setattr(self, name, saved[name])


class Turns:
    """The order in which an environment plays its levels.

    rotate_every: agent steps on a level, over all its episodes, before the next level; 0: the next
    level follows each episode.
    """

    def __init__(self, levels: list[Level], rotate_every: int) -> None:
        self.levels = levels
        self.rotate_every = rotate_every
        self.restart()

    def restart(self) -> None:
        """Begin with the first level again."""
        self.index = self.steps = 0
        self.fresh, self.played = True, False

    def leave(self) -> None:
        """Begin an episode on a level that is named: a turn without a step remains the next one."""
        self.fresh, self.played = self.fresh or not self.played, False

    def next(self) -> Level:
        """The level of the next episode; the last one again if no step was played since."""
        if self.rotate_every == 0 and self.played and not self.fresh:
            self.index += 1
        elif 0 < self.rotate_every <= self.steps:
            self.index += 1
            self.steps = 0
        self.fresh = self.played = False
        return self.levels[self.index % len(self.levels)]


class LevelRotation(Stateful):
    """Plays `levels` in turn (see Turns); a change is a truncation with infos["rotated"].

    A single level is never truncated for it.
    """

    def __init__(self, env: gymnasium.Env, levels: list[Level], *, rotate_every: int) -> None:
        super().__init__(env)
        self.turns = Turns(levels, rotate_every)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start options["level"], or else the next level, which after a new seed is the first."""
        if options is not None and "level" in options:
            self.turns.leave()
            return self.env.reset(seed=seed, options=options)
        if seed is not None:
            self.turns.restart()
        return self.env.reset(seed=seed, options={**(options or {}), "level": self.turns.next()})

    def step(self, action: Any) -> Step:
        """Truncates when the level's steps are used up, unless the episode ends by itself."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        turns = self.turns
        turns.steps, turns.played = turns.steps + 1, True
        used_up = 0 < turns.rotate_every <= turns.steps and len(turns.levels) > 1
        if used_up and not (terminated or truncated):
            truncated = True
            info["rotated"] = True
        return obs, reward, terminated, truncated, info

    def save(self) -> dict[str, Any]:
        return {name: vars(self.turns)[name] for name in ("index", "steps", "fresh", "played")}

    def restore(self, saved: dict[str, Any]) -> None:
        vars(self.turns).update(saved)


class Discretise(gymnasium.Wrapper):
    """Discrete(7 or 10) -> the buttons of the action. Contest: 7."""

    def __init__(self, env: gymnasium.Env, *, actions: int) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(actions)
        held = [[name in names.split() for name in BUTTON_NAMES] for names in ACTIONS[actions]]
        self.buttons = np.array(held, np.int8)

    def step(self, action: Any) -> Step:
        """One agent step with the action's buttons held. Raises InvalidAction if out of range."""
        action = index(action)
        if not 0 <= action < len(self.buttons):
            raise InvalidAction(f"action {action}: expected 0 to {len(self.buttons) - 1}")
        return self.env.step(self.buttons[action])


class StepLimit(Stateful):
    """Truncates an episode after `steps` agent steps; 0: never. Contest: 4500."""

    saved_names = ("steps",)

    def __init__(self, env: gymnasium.Env, *, steps: int) -> None:
        super().__init__(env)
        self.limit = steps
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Count from zero."""
        self.steps = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Step:
        """Truncates on the step that reaches the limit, or exceeds one lowered on resuming."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        return obs, reward, terminated, truncated or 0 < self.limit <= self.steps, info


def progress_of(furthest: float, *, terminated: bool) -> tuple[float, bool]:
    """Returns the completed share of the level, 0 to 1, from an episode's furthest return (the
    contest has 9000 per level), and whether the episode reached the level's end."""
    progress = min(furthest / CONTEST_PROGRESS, 1.0)
    # Per-frame rewards are single precision: their sum may be slightly below 9000.
    return progress, bool(terminated and progress > 0.9999)


def episode_record(
    *, total: float, furthest: float, steps: int, level: str, terminated: bool, rotated: bool
) -> dict[str, Any]:
    """The record of an episode, from the contest's unscaled reward.

    r: return; l: agent steps; level: GAME:STATE; progress, finished: see `progress_of`; rotated:
    whether a change of level cut it.
    """
    progress, finished = progress_of(furthest, terminated=terminated)
    return {
        "r": total,
        "l": steps,
        "level": level,
        "progress": progress,
        "finished": finished,
        "rotated": rotated,
    }


class EpisodeRecord(Stateful):
    """Adds infos["episode_record"] on the last step of an episode, and at a reset that cuts one.
    (`episode` is the key of Gymnasium's RecordEpisodeStatistics.)"""

    saved_names = ("level", "total", "furthest", "steps")
    level, steps = "", 0
    total = furthest = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Count from zero."""
        cut = self.episode() if self.steps else None
        obs, info = self.env.reset(seed=seed, options=options)
        if cut:
            info["episode_record"] = cut
        self.level = info["level"]
        self.total = self.furthest = 0.0
        self.steps = 0
        return obs, info

    def step(self, action: Any) -> Step:
        """Adds up rewards, and reports at the end."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.total += float(reward)
        self.furthest = max(self.furthest, self.total)
        self.steps += 1
        if terminated or truncated:
            rotated = bool(info.get("rotated", False))
            info["episode_record"] = self.episode(terminated=terminated, rotated=rotated)
            self.steps = 0
        return obs, reward, terminated, truncated, info

    def episode(self, *, terminated: bool = False, rotated: bool = False) -> dict[str, Any]:
        """The record of the episode so far, see `episode_record`."""
        return episode_record(
            total=self.total,
            furthest=self.furthest,
            steps=self.steps,
            level=self.level,
            terminated=terminated,
            rotated=rotated,
        )


class AllowBacktracking(Stateful):
    """Rewards only increases of the furthest progress, so that going back costs nothing.

    Source: openai/retro-baselines, AllowBacktracking.
    """

    saved_names = ("total", "furthest")
    total = furthest = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Reset the furthest progress."""
        self.total = self.furthest = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Step:
        """The same step with the reward max(0, total - furthest)."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.total += float(reward)
        gain = max(0.0, self.total - self.furthest)
        self.furthest = max(self.furthest, self.total)
        return obs, gain, terminated, truncated, info


class Warp(gymnasium.ObservationWrapper):
    """Screen uint8 [H, W, 3] -> uint8 [1 or 3, height, width], by area averaging."""

    def __init__(self, env: gymnasium.Env, *, height: int, width: int, grey: bool) -> None:
        super().__init__(env)
        import cv2  # slow to import, as the next is

        from retro_agents.games.retro.shrink import AreaShrinker

        self.grey_of = partial(cv2.cvtColor, code=cv2.COLOR_RGB2GRAY)
        self.shrink = AreaShrinker(height=height, width=width)
        self.grey = grey
        channels = 1 if grey else 3
        self.observation_space = gymnasium.spaces.Box(0, 255, (channels, height, width), np.uint8)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """One screen."""
        return self.shrink(self.grey_of(observation)[:, :, None] if self.grey else observation)


class FrameStack(Stateful):
    """The last `depth` observations [c, H, W] as one [depth*c, H, W], oldest first.

    After a reset the first observation fills every place.
    """

    def __init__(self, env: gymnasium.Env, *, depth: int) -> None:
        super().__init__(env)
        assert env.observation_space.shape is not None
        self.channels, height, width = env.observation_space.shape
        shape = (depth * self.channels, height, width)
        self.observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        self.stack = np.zeros(shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Fill the stack with the first observation."""
        obs, info = self.env.reset(seed=seed, options=options)
        self.stack.reshape(-1, *obs.shape)[:] = obs
        return self.stack.copy(), info

    def step(self, action: Any) -> Step:
        """Push the new observation; the caller gets a copy."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.stack[: -self.channels] = self.stack[self.channels :]
        self.stack[-self.channels :] = obs
        return self.stack.copy(), reward, terminated, truncated, info

    def save(self) -> dict[str, Any]:
        return {"stack": self.stack.tobytes()}

    def restore(self, saved: dict[str, Any]) -> None:
        self.stack[:] = np.frombuffer(saved["stack"], np.uint8).reshape(self.stack.shape)
