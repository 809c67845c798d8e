"""A remote level as the vector environment that an agent's `train.run` plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from contest.wire.client import RemoteEnv
from contest.wire.protocol import GymRemoteError
from experiment.errors import UserError
from retro_env import EnvConfig
from retro_env.make import wrap_agent
from retro_env.wrappers import Discretise


class RemoteVectorEnv(VectorEnv):
    """One remote level with the interface of RetroVectorEnv: N = 1, SAME_STEP autoreset.

    The server has the budget. An episode that ends with the budget's last step is reported as any
    other, without a next one; the step after the last raises TimestepTimeoutError (or
    WallClockTimeoutError), so that a loop of as many steps as the budget ends by itself.
    Errors: GymRemoteError's kinds.
    """

    def __init__(self, directory: Path | str, *, config: EnvConfig, level: str = "remote") -> None:
        """directory: where the server is. level: its name in episodes; the wire has none."""
        self.remote = RemoteEnv(directory, level=level)
        self.env = wrap_agent(self.remote, config)
        self.buttons = Discretise(self.remote, actions=config.actions).buttons
        self.num_envs = 1
        self.levels = [level]
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = None
        self.single_observation_space = self.env.observation_space
        self.single_action_space = gymnasium.spaces.Discrete(config.actions)
        self.observation_space = batch_space(self.single_observation_space, 1)
        self.action_space = batch_space(self.single_action_space, 1)
        self.action: int | None = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A first episode -> (observations [1, C, H, W], infos). Chance is the server's."""
        obs, info = self.env.reset()
        return obs[np.newaxis], {"level": np.array([info["level"]], dtype=object)}

    def step_async(self, actions: np.ndarray, part: slice | None = None) -> None:
        """Let the server play the step; `step_wait` collects it. actions: int [1]. part: as in
        RetroVectorEnv; of one environment it is the whole."""
        actions = np.asarray(actions)
        assert actions.shape == (1,), f"actions {actions.shape} for one environment"
        assert self.action is None, "step_async twice without step_wait"
        action = int(actions[0])
        self.remote.begin(self.buttons[action])
        self.action = action

    def step_wait(
        self, part: slice | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """(observations [1, C, H, W], rewards, terminated, truncated [1], infos). part: as in
        `step_async`."""
        assert self.action is not None, "step_wait without step_async"
        action, self.action = self.action, None
        obs, reward, terminated, truncated, info = self.env.step(action)
        infos: dict[str, Any] = {}
        if terminated or truncated:
            ended = {"final_obs": obs, "episode": info["episode"]}
            infos = self._add_info(infos, ended, 0)
            obs = self.first_observation(obs)
        return (
            obs[np.newaxis],
            np.array([reward], np.float64),
            np.array([terminated]),
            np.array([truncated]),
            infos,
        )

    def first_observation(self, last: np.ndarray) -> np.ndarray:
        """Of the next episode; `last` where there is none, as the next step will say."""
        try:
            return self.env.reset()[0]
        except GymRemoteError:
            return last

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """step_async and step_wait in one."""
        self.step_async(actions)
        return self.step_wait()

    def save_states(self) -> list[dict[str, Any]]:
        """Nothing: a checkpoint made here keeps what was learned, not where the level stood."""
        return [{"remote": self.levels[0]}]

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        """Errors: UserError, always."""
        raise UserError(
            "a run on a remote level cannot be resumed: its server counted the agent as gone; "
            "start a new one with --init"
        )

    def close_extras(self, **kwargs: Any) -> None:
        """Leave; the server ends the run."""
        self.env.close()
