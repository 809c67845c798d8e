"""Observations on a device, put together there: only the newest frames are copied to it."""

from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.contract.envs import EnvSpec


@final
class NewestFrames:
    """The frames that N environments showed last, as uint8 [N,H,W,C] on the device.

    Letters: C channels of an observation, c of a frame, n rows of a part.
    """

    def __init__(self, num_envs: int, spec: EnvSpec, device: torch.device) -> None:
        channels, *image = spec.observation_shape
        self.channels, self.device = spec.channels, device
        self.shown = torch.zeros(num_envs, *image, channels, dtype=torch.uint8, device=device)

    @staticmethod
    def suits(spec: EnvSpec) -> bool:
        """Whether observations show the latest frames without a gap, and more than one."""
        return len(spec.steps_back) > 1 and spec.steps_back[0] == len(spec.steps_back) - 1

    def begin(self, obs: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Go to these observations [N,C,H,W]. Returns their newest frames [N,c,H,W], which are then
        to be added."""
        c = self.channels
        before = np.concatenate([obs[:, :c], obs[:, :-c]], axis=1)
        self.shown.copy_(torch.from_numpy(before).permute(0, 2, 3, 1))
        return obs[:, -c:]

    def after(self, frames: Tensor, starts: Tensor, part: slice) -> Tensor:
        """The observations [n,H,W,C] of a part after these frames [n,c,H,W]. starts [n]: where an
        episode begins, a frame also stands for those before it."""
        new = frames.permute(0, 2, 3, 1)
        moved = torch.cat([self.shown[part, ..., self.channels :], new], dim=3)
        held = new.repeat(1, 1, 1, moved.shape[3] // self.channels)
        return torch.where(starts[:, None, None, None], held, moved)

    def add(self, frames: Tensor, starts: Tensor, part: slice) -> Tensor:
        """Store what `after` returns, and return it."""
        self.shown[part] = obs = self.after(frames, starts, part)
        return obs
