"""This project's environments for Stable-Baselines3: the same workers, no copies through pipes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from retro_env import RetroVectorEnv, ended_episodes


class Envs(VecEnv):
    """This project's vector environment, as Stable-Baselines3 wants it."""

    def __init__(self, envs: RetroVectorEnv, *, seed: int) -> None:
        self.envs, self.first_seed = envs, seed
        self.ended: list[dict[str, Any]] = []
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> NDArray[np.uint8]:
        """Called once, at the start."""
        return self.envs.reset(seed=self.first_seed)[0]

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self.envs.step_async(actions)

    def step_wait(self) -> Any:
        obs, rewards, terminated, truncated, infos = self.envs.step_wait()
        self.ended = ended_episodes(infos)
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for env in np.flatnonzero(terminated | truncated).tolist():
            each[env]["terminal_observation"] = infos["final_obs"][env]
            each[env]["TimeLimit.truncated"] = bool(truncated[env] and not terminated[env])
        return obs, rewards.astype(np.float32), terminated | truncated, each

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs
