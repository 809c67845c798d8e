"""A remote level as the vector environment that an agent's `run` uses."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.contest.wire.protocol import GymRemoteError
from retro_agents.contract.envs import Infos, Step
from retro_agents.contract.rows import VectorBase
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import wrap_agent
from retro_agents.games.retro.wrappers import Discretise
from retro_agents.ground.errors import UserError


class RemoteVectorEnv(VectorBase):
    """The contract of `envs.VectorEnv` on one remote level.

    The server keeps the budget. An episode that ends with the budget's last step is reported like
    any other, but none follows it; the step after the last one raises TimestepTimeoutError (or
    WallClockTimeoutError), so a loop of as many steps as the budget ends by itself.
    Raises the same errors as `RemoteEnv`.
    """

    saves_states = resets_rows = False

    def __init__(self, directory: Path | str, *, config: EnvConfig, level: str = "remote") -> None:
        """directory: the server's. level: its name in episodes; the protocol does not send it."""
        super().__init__(1, config.spec())
        self.remote = RemoteEnv(directory, level=level)
        self.env = wrap_agent(self.remote, config)
        self.buttons = Discretise(self.remote, actions=config.actions).buttons
        self.levels = [level]
        self.action: int | None = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, Infos]:
        """Begin the first episode -> observations [1, C, H, W]. The server has its own seed."""
        obs, info = self.env.reset()
        return obs[np.newaxis], {"level": np.array([info["level"]], dtype=object)}

    def step_async(self, actions: np.ndarray, part: slice | None = None) -> None:
        """Let the server play the step; `step_wait` collects it. part: the only row."""
        assert self.action is None, "step_async twice without step_wait"
        action = int(self.checked(actions, 1)[0])
        self.remote.begin(self.buttons[action])
        self.action = action

    def step_wait(self, part: slice | None = None) -> Step:
        """Collect the server's answer."""
        assert self.action is not None, "step_wait without step_async"
        action, self.action = self.action, None
        obs, reward, terminated, truncated, info = self.env.step(action)
        infos: Infos = {}
        if terminated or truncated:
            ended = {"final_obs": obs, "episode_record": info["episode_record"]}
            infos = self._add_info(infos, ended, 0)
            # If there is no next episode, the next step raises the reason.
            with contextlib.suppress(GymRemoteError):
                obs = self.env.reset()[0]
        ends = np.array([terminated]), np.array([truncated])
        return obs[np.newaxis], np.array([reward], np.float64), *ends, infos

    def save_states(self) -> list[dict[str, Any]]:
        """An empty state: a checkpoint made here saves what was learned, not the level's state."""
        return []

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        """Always raises UserError."""
        raise UserError(
            "a run on a remote level cannot be resumed: its server counted the agent as gone; "
            "start a new one with --init"
        )

    def close_extras(self, **kwargs: Any) -> None:
        """Leave; the server then ends the run."""
        self.env.close()
