"""The vector environments for Stable-Baselines3, without a process or a copy per environment.

    from retro_agents.contract.sb3 import make_sb3_vec
    envs = make_sb3_vec("retro_agents:BrambleDash/train-v0", num_envs=64, seed=0)
    PPO("CnnPolicy", envs).learn(1_000_000)

Needs Stable-Baselines3, which the extra `benchmarks` brings.
"""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from retro_agents.contract.envs import ended_episodes


class SB3VecEnv(VecEnv):
    """N rows of a vector environment (`contract.envs.VectorEnv`) as one of Stable-Baselines3.

    An ended row's info has Stable-Baselines3's "terminal_observation" and "TimeLimit.truncated",
    its "episode" with the return of the rewards and the length in steps, and `ended_episodes`'
    record as "episode_record", with the score of this project's tables.
    """

    def __init__(self, envs: Any, *, seed: int | None = None) -> None:
        self.envs = envs
        self.gained = np.zeros(envs.num_envs)
        self.actions: NDArray[np.int64] = np.zeros(envs.num_envs, np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self.metadata = {**self.metadata, **envs.metadata}  # render_fps, for films
        if seed is not None:
            self.seed(seed)

    def reset(self) -> NDArray[np.uint8]:
        """Begin new episodes, from the seed and the options if some were given since the last time:
        set_options({"levels": […]}) names a level for each environment."""
        obs: NDArray[np.uint8]
        if any(options != self._options[0] for options in self._options):
            raise ValueError(
                'options are for all rows: set_options({"levels": [a level for each row]})'
            )
        obs, _ = self.envs.reset(seed=self._seeds[0], options=self._options[0] or None)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{"level": level} for level in self.envs.levels]
        self.gained[:] = 0.0
        return obs

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Keep the actions [N] for `step_wait`, which follows at once."""
        self.actions = actions

    def step_wait(self) -> Any:
        """A step: observations uint8 [N,C,H,W], rewards float32 [N], ends [N], infos. Ctrl-C closes
        the environments."""
        obs, rewards, terminated, truncated, infos = self.envs.step(self.actions)
        self.gained += rewards
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        records = {episode["env"]: episode for episode in ended_episodes(infos)}
        for row in np.flatnonzero(terminated | truncated).tolist():
            each[row]["terminal_observation"] = infos["final_obs"][row]
            each[row]["TimeLimit.truncated"] = bool(truncated[row] and not terminated[row])
            if record := records.get(row):
                each[row]["episode_record"] = record
                each[row]["episode"] = {"r": float(self.gained[row]), "l": record["l"]}
            self.gained[row] = 0.0
        return obs, rewards.astype(np.float32), terminated | truncated, each

    def close(self) -> None:
        """Free the environments."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute that all rows share, for each of the rows."""
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def get_images(self) -> list[Any]:
        """The current screen of each row, uint8 [H,W,3]."""
        return [*self.envs.render()]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """By Monitor alone, in effect: episodes are counted here, as Monitor does."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Rows have no attributes of their own."""
        raise AttributeError(f"{attr_name} cannot be set: rows have no attributes of their own")

    def env_method(self, method_name: str, *_: Any, indices: Any = None, **__: Any) -> list[Any]:
        """Rows have no methods of their own."""
        raise AttributeError(f"{method_name} cannot be called: rows have no methods of their own")


def make_sb3_vec(name: str, *, num_envs: int, seed: int = 0, **settings: Any) -> SB3VecEnv:
    """The environments of a Gymnasium name, such as retro_agents:BrambleDash/train-v0.

    settings: fields of the family's settings, such as backtracking. Raises what
    `gymnasium.make_vec` does."""
    envs = gymnasium.make_vec(name, num_envs=num_envs, seed=seed, **settings)
    return SB3VecEnv(envs, seed=seed)
