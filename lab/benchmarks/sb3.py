"""What Stable-Baselines3's agents need to be runs of this project: environments, net, files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor, nn

from retro_agents.contract.envs import ended_episodes
from retro_agents.ground.errors import UserError
from retro_agents.nets.encoders import encoder_of
from retro_agents.nets.settings import NetSettings
from retro_agents.run.folder import Reports


def refuse_others(values: Mapping[str, Any], lacking: Mapping[str, Any]) -> None:
    """UserError: a setting that Stable-Baselines3 lacks has another value than it can have."""
    for name, value in lacking.items():
        if values[name] != value:
            raise UserError(
                f"Stable-Baselines3 cannot have {name} {values[name]!r} here; expected {value!r}"
            )


class Features(BaseFeaturesExtractor):
    """The net as far as its heads share it: convolutions and a hidden layer."""

    def __init__(self, space: Any, *, net: NetSettings) -> None:
        super().__init__(space, net.hidden)
        made = encoder_of(net, space.shape)
        # Initial weights are drawn into these, which is impossible where they are channels last.
        self.encoder = made.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.hidden = nn.Linear(made.features, net.hidden)

    def forward(self, obs: Tensor) -> Tensor:
        return torch.relu(self.hidden(self.encoder(obs)))


def policy_kwargs(net: NetSettings, *, adam_epsilon: float) -> dict[str, Any]:
    """What any of its policies is told to have this net, and nothing between it and its heads."""
    return {
        "features_extractor_class": Features,
        "features_extractor_kwargs": {"net": net},
        "net_arch": [],
        "normalize_images": False,  # the encoder does
        "optimizer_kwargs": {"eps": adam_epsilon},
    }


class Envs(VecEnv):
    """This project's vector environment, as Stable-Baselines3 wants it: no copies through pipes."""

    def __init__(self, envs: Any, *, seed: int) -> None:
        self.envs, self.first_seed = envs, seed
        self.ended: list[dict[str, Any]] = []
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> NDArray[np.uint8]:
        """Called once, at the start."""
        obs: NDArray[np.uint8] = self.envs.reset(seed=self.first_seed)[0]
        return obs

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

    def get_attr(self, *_: Any, **__: Any) -> list[Any]:
        return [None] * self.num_envs

    def env_is_wrapped(self, *_: Any, **__: Any) -> list[bool]:
        return [False] * self.num_envs

    def set_attr(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    env_method = set_attr  # type: ignore[assignment]


class Recorder(BaseCallback):
    """Writes every episode that ends."""

    def __init__(self, report: Reports) -> None:
        super().__init__()
        self.report = report

    def _on_step(self) -> bool:
        for episode in self.training_env.ended:  # type: ignore[attr-defined]
            self.report.episodes.log(self.num_timesteps, episode["env"], episode)
        return True

    def note(self, values: dict[str, float]) -> None:
        """Write a row of metrics."""
        self.report.metrics.log(self.num_timesteps, values)
        self.report.progress.update(self.num_timesteps, values)
