"""What the environments behind Gymnasium's names share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos, VectorEnv, ended_episodes
from retro_agents.ground.window import check_display

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}
"""Gymnasium's metadata about the environments' pictures."""
ENTRY_METADATA = {**METADATA, "render_modes": [*METADATA["render_modes"], "human"]}
"""The same of what `gymnasium.make` calls, which can also open a window."""


def check_known(kind: Any, given: Mapping[str, Any], *others: str) -> None:
    """Raises TypeError, as Gymnasium's own environments do, for what is no field of a dataclass.
    others: names of further arguments, which the caller takes itself."""
    if unknown := given.keys() - kind.__dataclass_fields__.keys():
        expected = ", ".join((*others, *kind.__dataclass_fields__))
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}; expected {expected}")


def check_mode(mode: str | None, metadata: Mapping[str, Any]) -> None:
    """Raises ValueError if an environment with this metadata has no such render mode, or UserError
    if that is a window, and there is no display."""
    if mode not in (None, *(known := metadata["render_modes"])):
        raise ValueError(f"unknown render_mode {mode!r}; expected {', '.join([*known, 'None'])}")
    if mode == "human":
        check_display('render_mode="rgb_array" opens no window')


def rendered(env: gymnasium.Env, mode: str | None) -> gymnasium.Env:
    """The environment with a render mode: "rgb_array", "human" (a window), or None."""
    env.unwrapped.render_mode = "rgb_array" if mode == "human" else mode
    return gymnasium.wrappers.HumanRendering(env) if mode == "human" else env


class OneRow(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """The only row of a vector environment, as an environment."""

    metadata = METADATA
    render_mode: str | None = "rgb_array"

    def __init__(self, envs: VectorEnv) -> None:
        whole: Any = envs
        self.envs, self.channels = envs, envs.env_spec.channels
        self.observation_space = whole.single_observation_space
        self.action_space = whole.single_action_space
        self.obs: NDArray[np.uint8] | None = None
        self.shown: NDArray[np.uint8] | None = None
        self.next_has_begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        """Begin an episode. seed: also decides the levels of all later ones."""
        super().reset(seed=seed)
        if seed is not None or options or self.obs is None or not self.next_has_begun:
            obs, _ = self.envs.reset(seed=seed, options=options)
            self.obs = obs[0]
        self.shown, self.next_has_begun = self.obs, False
        return self.obs, {"level": self.envs.levels[0]}

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, Infos]:
        """One step. Raises ResetNeeded before a reset."""
        if self.obs is None or self.next_has_begun:
            raise ResetNeeded("call reset() before the next step")
        level = self.envs.levels[0]
        obs, rewards, terminated, truncated, infos = self.envs.step(np.array([action]))
        info: Infos = {"level": level}
        self.obs = self.shown = obs[0]
        self.next_has_begun = bool(terminated[0] or truncated[0])  # by SAME_STEP autoreset
        if self.next_has_begun:
            self.shown = infos["final_obs"][0]
            (episode,) = ended_episodes(infos)
            info["episode_record"] = {name: episode[name] for name in episode if name != "env"}
        return self.shown, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Any:
        """The newest frame of the observation, uint8 [H, W, 3]; None without a render_mode."""
        if self.render_mode is None or self.shown is None:
            return None
        return self.shown[-self.channels :].transpose(1, 2, 0)

    def close(self) -> None:
        """Frees the environment."""
        self.envs.close()
