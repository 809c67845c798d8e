"""Keys of the episodic memory: embeddings of observations by their frames, or by a policy's net.

Observations uint8 [N,C,H,W] -> float32 [N,size]: vectors in nearly the same direction for similar
ones.
"""

from typing import final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jerk.config import JerkConfig
from retro_agents.contract.policy import ScoringPolicy
from retro_agents.ground.errors import UserError

SIDE = 21
"""Height and width of a frame before it is projected."""
EMBEDDING = 128
"""Size of the embedding by frames."""


@final
class FrameEmbedder:
    """Unit vectors. The newest and the oldest frame are shrunk and centred, then projected by a
    fixed random matrix."""

    size = EMBEDDING

    def __init__(self, config: JerkConfig) -> None:
        self.channels = config.env.spec().channels
        inputs = 2 * SIDE * SIDE * self.channels
        # The run's seed is not used, so that memories of several runs are comparable.
        rng = np.random.default_rng(0)
        matrix = rng.standard_normal((inputs, EMBEDDING), np.float32)
        self.matrix = matrix / np.float32(np.sqrt(inputs))

    def __call__(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        seen = self.features(obs)
        projected = (seen - seen.mean(axis=1, keepdims=True)) @ self.matrix
        length = np.sqrt(np.einsum("nd,nd->n", projected, projected))
        return projected / np.maximum(length, np.float32(1e-6))[:, None]

    def features(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        """[N,C,H,W] -> [N,inputs]."""
        last = obs.shape[1] - self.channels
        small = [
            cv2.resize(frame, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
            for image in obs
            for frame in (*image[: self.channels], *image[last:])
        ]
        return np.asarray(small, np.float32).reshape(len(obs), -1) / np.float32(255.0)


@final
class NetEmbedder:
    """What a policy's net gives before an action is chosen: its scores of the actions (a policy's
    logits), or the outputs of its fully connected layers, before their ReLUs.

    The scores' mean, on which no choice depends, is subtracted: values are far larger than their
    differences, and would all point the same way. Raises UserError if there is no such layer.
    """

    def __init__(self, actor: ScoringPolicy, *, hidden: bool) -> None:
        self.actor = actor
        layers = actor.net.named_modules() if hidden else ()
        self.layers = [layer for name, layer in layers if name.endswith("hidden")]
        if hidden and not self.layers:
            raise UserError(
                "--memory-key hidden: this policy's net has no layer of that name; give scores or "
                "frames"
            )
        blank = np.zeros((1, *actor.config.env.spec().observation_shape), np.uint8)
        self.size = self(blank).shape[1]

    @torch.no_grad()
    def __call__(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        found: list[Tensor] = []
        handles = [
            layer.register_forward_hook(lambda _, __, units: found.append(units.flatten(1)))
            for layer in self.layers
        ]
        scores = self.actor.scores(torch.from_numpy(obs).to(self.actor.device))
        for handle in handles:
            handle.remove()
        found = found or [scores - scores.mean(dim=1, keepdim=True)]
        return torch.cat(found, dim=1).cpu().numpy()


Embedder = FrameEmbedder | NetEmbedder
