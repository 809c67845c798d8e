"""A policy and a value function in one net."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nets.encoders import Encoder, encoder_of
from nets.heads import ActorCriticHead
from nets.initialise import initialiser
from nets.noisy import Noises, NoisyLinear, PlainLinear, signed_root
from nets.recurrent import RecurrentCore
from nets.settings import NetSettings


class ActorCritic(nn.Module):
    """uint8 images [B,C,H,W] -> logits [B,A], values [B]. Noise is given, see `nets.noisy`.

    With a recurrent core the rows are `steps` steps of B/steps environments, step by step.
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        hidden: nn.Module,
        core: RecurrentCore | None,
        head: ActorCriticHead,
    ) -> None:
        super().__init__()
        self.encoder, self.hidden, self.core, self.head = encoder, hidden, core, head

    def forward(
        self,
        obs: Tensor,
        *,
        noise: Noises = None,
        state: Tensor,
        starts: Tensor,
        steps: int = 1,
        kept: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """state [N,S] before the first step; starts bool [B]: rows that begin an episode. kept
        [B,hidden]: factors on the fully connected layer's units (dropout).
        -> (logits, values, state after the last step)."""
        features = torch.relu(self.hidden(self.encoder(obs), noise[0] if noise else None))
        if kept is not None:
            features = features * kept
        if self.core is not None:
            sequence = features.view(steps, -1, features.shape[1])
            out, state = self.core(sequence, state, starts.view(steps, -1))
            features = out.flatten(0, 1)
        logits, values = self.head(features, noise[1:] if noise else None)
        return logits.float(), values.squeeze(1).float(), state

    def noisy_layers(self) -> list[NoisyLinear]:
        """Those that take noise, in its order."""
        return [m for m in (self.hidden, *self.head.layers()) if isinstance(m, NoisyLinear)]

    def draw_noise(self, rngs: list[np.random.Generator], device: torch.device) -> Noises:
        """A draw for each of as many rows as there are generators; None without noisy layers."""

        def draw(width: int) -> Tensor:
            rows = [rng.standard_normal(width, np.float32) for rng in rngs]
            return signed_root(torch.from_numpy(np.stack(rows))).to(device)

        return [(draw(m.inputs), draw(m.outputs)) for m in self.noisy_layers()] or None


def make_trunk(
    net: NetSettings,
    image: tuple[int, int, int],
    *,
    initialisation: str,
    linear: Callable[[int, int], nn.Module] = PlainLinear,
) -> tuple[Encoder, Any]:
    """Untrained convolutions and the fully connected layer behind them, for images [C,H,W].

    initialisation: of `initialiser`; default: orthogonal, but for convolutions that have a way of
    their own.
    """
    encoder, initialise = encoder_of(net, image), initialiser(initialisation)
    if initialisation != "default" or net.encoder in ("nature", "data-efficient"):
        initialise(encoder)
    hidden = linear(encoder.features, net.hidden)
    initialise(hidden)
    return encoder, hidden


def entropies(log_probs: Tensor) -> Tensor:
    """Of distributions given by their log-probabilities, [...,A] -> [...], in nats."""
    return -(log_probs.exp() * log_probs).sum(dim=-1)


def sample_actions(log_probs: Tensor, uniforms: Tensor) -> Tensor:
    """One action per row by inverting the distribution function. log_probs [B,A], uniforms [B] in
    [0,1) -> [B]."""
    below = torch.searchsorted(log_probs.exp().cumsum(dim=-1), uniforms[:, None], right=True)
    return below.squeeze(-1).clamp(max=log_probs.shape[-1] - 1)
