"""Heads from features to action values, or to a policy and values."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from retro_agents.nets.initialise import POLICY_GAIN, VALUE_GAIN, orthogonal
from retro_agents.nets.noisy import Noise, Noises, NoisyLinear, PlainLinear

T = TypeVar("T")
COSINES = 64
"""Size of a fraction's embedding, as in the paper."""


def in_fp32(layer: Callable[[Tensor], T], features: Tensor) -> T:
    """A last layer's output, in fp32 even under autocast: near 40, bf16 has steps of 0.25."""
    with torch.autocast(features.device.type, enabled=False):
        return layer(features.float())


class QHead(nn.Module):
    """Features [B,F] -> [B,actions,atoms]: values (1 atom) or logits of a return distribution; with
    quantiles, [B,actions,N]: the return's quantiles at the fractions that `forward` takes.

    dueling: value + advantage − mean advantage (Wang et al., arXiv:1511.06581), atom by atom.
    streams: "shared" puts one hidden layer before both streams (the contest's Rainbow);
    "separate" gives each its own (Hessel et al., arXiv:1710.02298).
    quantiles: N; features are multiplied by an embedding of the fraction (Dabney et al.,
    arXiv:1806.06923, eq. 4). atoms is then 1.
    """

    def __init__(
        self,
        features: int,
        *,
        actions: int,
        atoms: int,
        hidden: int = 512,
        dueling: bool = True,
        noisy: bool = True,
        sigma0: float = 0.5,
        streams: str = "shared",
        quantiles: int = 0,
    ) -> None:
        super().__init__()
        linear = partial(NoisyLinear, sigma0=sigma0) if noisy else PlainLinear
        self.actions, self.atoms, self.dueling = actions, atoms, dueling
        self.hidden = linear(features, hidden)
        self.advantage = linear(hidden, actions * atoms)
        if dueling:
            self.value = linear(hidden, atoms)
        self.separate = dueling and streams == "separate"
        if self.separate:
            self.value_hidden = linear(features, hidden)
        self.quantiles = quantiles
        if quantiles:
            self.embedding = nn.Linear(COSINES, features)

    def layers(self) -> list[nn.Module]:
        """The linear layers, in the order in which `forward` takes their noise."""
        names = ["hidden", "advantage", "value", "value_hidden"]
        return [getattr(self, name) for name in names if name in self._modules]

    def inner_layers(self) -> list[nn.Module]:
        """All linear layers but the last ones, which compute in fp32."""
        names = ["embedding", "hidden", "value_hidden"]
        return [getattr(self, name) for name in names if name in self._modules]

    def sample_noise(self, rows: int | None, device: torch.device) -> list[Noise | None]:
        """Draws noise for one forward pass: one for the batch (rows None), or one for each row.
        None for a layer without noise."""
        return [
            layer.sample_noise(rows, device) if isinstance(layer, NoisyLinear) else None
            for layer in self.layers()
        ]

    def sample_fractions(self, rows: int, device: torch.device) -> Tensor | None:
        """Draws fractions [rows,N] from 0 to 1 for one forward pass; None without quantiles."""
        return torch.rand(rows, self.quantiles, device=device) if self.quantiles else None

    def forward(
        self,
        features: Tensor,
        noise: Sequence[Noise | None] | None = None,
        fractions: Tensor | None = None,
    ) -> Tensor:
        """fractions [B,N]: of the quantiles to compute; None: the middles of N equal parts."""
        drawn = list(noise) if noise is not None else [None] * len(self.layers())
        if self.quantiles:
            features = features[:, None] * self.embedded(fractions, features.device)  # [B,N,F]
            drawn = [pair and (pair[0].unsqueeze(-2), pair[1].unsqueeze(-2)) for pair in drawn]
        hidden = torch.relu(self.hidden(features, drawn[0]))
        out = in_fp32(partial(self.advantage, noise=drawn[1]), hidden)
        out = out.unflatten(-1, (self.actions, self.atoms))
        if self.dueling:
            if self.separate:
                hidden = torch.relu(self.value_hidden(features, drawn[3]))
            value = in_fp32(partial(self.value, noise=drawn[2]), hidden).unsqueeze(-2)
            out = value + out - out.mean(dim=-2, keepdim=True)
        return out.squeeze(-1).transpose(1, 2) if self.quantiles else out

    def embedded(self, fractions: Tensor | None, device: torch.device) -> Tensor:
        """relu(Σ_i w_i cos(π i τ) + b). Fractions τ [B,N] -> [B,N,F]; None -> [1,N,F]."""
        if fractions is None:
            fractions = (torch.arange(self.quantiles, device=device)[None] + 0.5) / self.quantiles
        cosines = torch.cos(fractions[:, :, None] * math.pi * torch.arange(COSINES, device=device))
        return torch.relu(self.embedding(cosines))


class ActorCriticHead(nn.Module):
    """Features [B,F] -> (logits [B,actions], values [B,V]).

    Initial weights are orthogonal, nearly zero for the logits. linear: makes a layer.
    """

    def __init__(
        self,
        features: int,
        *,
        actions: int,
        values: int = 1,
        linear: Callable[[int, int], nn.Module] = nn.Linear,
    ) -> None:
        super().__init__()
        self.policy = linear(features, actions)
        self.value = linear(features, values)
        orthogonal(self.policy, gain=POLICY_GAIN)
        orthogonal(self.value, gain=VALUE_GAIN)

    def forward(self, features: Tensor, noise: Noises | None = None) -> tuple[Tensor, Tensor]:
        if noise is None:
            return self.policy(features), self.value(features)
        return self.policy(features, noise[0]), self.value(features, noise[1])
