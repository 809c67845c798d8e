"""Random network distillation (RND): a reward for images that a net cannot yet predict."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from retro_agents.experience.return_scale import ReturnScale
from retro_agents.nets.encoders import make_encoder, width_of
from retro_agents.nets.initialise import xavier
from retro_agents.run.distributed import Group
from retro_agents.run.optimiser import Adam, optimiser_tensors, restore_optimiser

ROWS = 2048
"""Images per forward pass."""
LIMIT = 2.0
"""Limit of a bonus of the kind impala."""
ADAM = "optimiser."
"""Prefix of the optimiser's tensors in a checkpoint."""


class RND:
    """The error of a net that learns to predict a random one.

    burda: two convolutions; images are divided by their running deviation, and errors by that of
    their discounted sum. Source: Burda et al., arXiv:1810.12894. Differs: the normaliser of images
    begins with the first rollout instead of random play; an episodic bonus, added to the reward, is
    an option. impala: pooled IMPALA nets on unchanged images; errors are clipped at 2.
    Source: ttumiel/procgen-competition. Differs: Adam is separate from the policy's, and makes one
    pass over a quarter of a rollout instead of all of it in each epoch; the bonus is that of the
    image reached, not of the one acted on, and an episode's last step has none.
    """

    def __init__(
        self,
        frame: tuple[int, int, int],
        num_envs: int,
        *,
        gamma: float,
        learning_rate: float = 1e-4,
        device: torch.device,
        group: Group,
        kind: Literal["burda", "impala"] = "burda",
        episodic: bool = True,
    ) -> None:
        """frame: [H,W,C] of the images. episodic: an episode's last step earns no bonus."""
        self.device, self.group, self.kind, self.episodic = device, group, kind, episodic
        make = features_net if kind == "burda" else impala_net
        self.nets = nn.ModuleDict(
            {"target": make(frame, deep=False), "predictor": make(frame, deep=True)}
        ).to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.nets["target"].requires_grad_(False)
        self.parameters = list(self.nets["predictor"].parameters())
        self.optimiser = Adam(self.parameters, lr=learning_rate, fused=True)
        self.scale = ReturnScale(num_envs, gamma=gamma)
        self.moments = torch.zeros(3, *frame, dtype=torch.float64, device=device)
        """For every pixel: number of images, their sum, their sum of squares."""
        self.nets.register_buffer("moments", self.moments)

    def bonus(self, frames: Tensor, ended: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Prediction errors [T,N] of the frames uint8 [T,N,H,W,C] that steps reached, scaled or
        clipped. ended [T,N]: last steps of episodes, whose bonus is 0 if it is episodic."""
        steps, num_envs = frames.shape[:2]
        flat = frames.flatten(0, 1)
        if self.kind == "burda":
            self.look_at(flat)
        with torch.no_grad():
            errors = torch.cat([self.errors(part) for part in flat.split(ROWS)])
        raw, earns = errors.view(steps, num_envs).cpu().numpy(), ~(ended & self.episodic)
        if self.kind == "impala":
            return raw.clip(max=LIMIT) * earns
        return self.scale(raw, np.zeros(raw.shape, bool), self.group) * earns

    def look_at(self, frames: Tensor) -> None:
        """Add frames to the moments of pixels, over all processes."""
        new = torch.zeros_like(self.moments)
        new[0] = len(frames)
        for part in frames.split(ROWS):
            values = part.double()
            new[1] += values.sum(dim=0)
            new[2] += values.square().sum(dim=0)
        self.moments += self.group.sum(new)

    def errors(self, frames: Tensor) -> Tensor:
        """Mean squared differences [B] between both nets' features of frames uint8 [B,H,W,C]."""
        x = frames
        if self.kind == "burda":
            count, total, squares = self.moments
            mean = total / count
            deviation = (squares / count - mean.square()).clamp(min=1.0).sqrt()
            x = ((frames - mean.float()) / deviation.float()).clamp(-5.0, 5.0)
        x = x.permute(0, 3, 1, 2)
        return (self.nets["predictor"](x) - self.nets["target"](x)).square().mean(dim=1)

    def learn(self, frames: Tensor, minibatches: Sequence[NDArray[np.int64]]) -> float:
        """Train the predictor once on a quarter of a rollout's frames uint8 [T,N,H,W,C].

        minibatches: rows t·N + n of all frames, equally many of each environment. Returns the mean
        error.
        """
        num_envs, flat = frames.shape[1], frames.flatten(0, 1)
        total = torch.zeros((), device=self.device)
        for indices in minibatches:
            quarter = indices.reshape(-1, num_envs)[::4].flatten()  # of each environment's steps
            rows = torch.from_numpy(quarter).to(self.device, non_blocking=True)
            loss = self.errors(flat[rows]).mean()
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.group.average_gradients(self.parameters)
            self.optimiser.step()
            total += loss.detach() / len(minibatches)
        return float(self.group.sum(total)) / self.group.size

    def tensors(self) -> dict[str, Tensor]:
        """Weights, moments of pixels and the optimiser's tensors, for a checkpoint."""
        adam = optimiser_tensors(self.optimiser).items()
        return {**self.nets.state_dict(), **{ADAM + name: value for name, value in adam}}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Restore `tensors`; `scale` is restored separately."""
        adam = {n.removeprefix(ADAM): v for n, v in tensors.items() if n.startswith(ADAM)}
        self.nets.load_state_dict({n: v for n, v in tensors.items() if not n.startswith(ADAM)})
        restore_optimiser(self.optimiser, adam)


def features_net(frame: tuple[int, int, int], *, deep: bool) -> nn.Sequential:
    """Float images [B,C,H,W] -> 128 features. deep: has one more hidden layer."""
    convolutions: list[nn.Module] = [
        *(nn.Conv2d(frame[2], 16, 8, stride=4), nn.LeakyReLU()),
        *(nn.Conv2d(16, 32, 4, stride=2), nn.LeakyReLU(), nn.Flatten()),
    ]
    image = frame[2], *frame[:2]
    width = width_of(nn.Sequential(*convolutions), image, what="random network distillation")
    hidden = [nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, 128)]
    return nn.Sequential(*convolutions, *(hidden if deep else [nn.Linear(width, 128)]))


def impala_net(frame: tuple[int, int, int], *, deep: bool) -> nn.Sequential:
    """uint8 images [B,C,H,W] -> 256 features. deep: has one more hidden layer."""
    height, width, channels = frame
    parts = ("pool-first", "shifted")
    encoder = make_encoder("impala", (channels, height, width), pool=True, parts=parts)
    more = [nn.ReLU(), nn.Linear(256, 256)] if deep else []
    net = nn.Sequential(encoder, nn.Linear(encoder.features, 256), *more)
    xavier(net)  # as in the source: the weights set the size of the unscaled bonus
    return net
