"""Linear layers with learned, factorised Gaussian noise on their weights.

Noise is an argument, never hidden state: a forward pass with the same noise gives the same output,
`None` gives the mean weights, and nothing depends on `train()` or `eval()`.
Source: Fortunato et al., arXiv:1706.10295.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

# One layer's noise: (on its inputs [in] or [B,in], on its outputs [out] or [B,out]).
Noise = tuple[Tensor, Tensor]
Noises = Sequence[Noise | None]
"""The noise of a net's layers, in their order."""

ROWS = 128
"""Rows with the same noise from which it is faster to build the noisy matrix."""


class NoisyLinear(nn.Module):
    """y = (mu + sigma · noise) x + (bias_mu + bias_sigma · noise), noise = f(e_out) f(e_in)ᵀ.

    For few rows the noisy matrix is not built: (sigma ∘ e_out e_inᵀ) x = e_out ∘ sigma (e_in ∘ x).
    """

    def __init__(self, inputs: int, outputs: int, *, sigma0: float = 0.5) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        bound = 1.0 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), sigma0 * bound))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), sigma0 * bound))

    def forward(self, x: Tensor, noise: Noise | None = None) -> Tensor:
        """x […,in], noise (e_in [in] or shaped as x, e_out [out] or shaped as y) -> y […,out]."""
        if noise is None:
            return nn.functional.linear(x, self.weight, self.bias)
        noise_in, noise_out = noise
        if noise_in.numel() == self.inputs and x.numel() >= ROWS * self.inputs:
            e_in, e_out = noise_in.reshape(-1), noise_out.reshape(-1)
            weight = self.weight + self.weight_sigma * e_in * e_out[:, None]
            return nn.functional.linear(x, weight, self.bias + self.bias_sigma * e_out)
        mean = nn.functional.linear(x, self.weight, self.bias)
        spread = nn.functional.linear(x * noise_in, self.weight_sigma, self.bias_sigma)
        return mean + spread * noise_out

    def sample_noise(self, rows: int | None, device: torch.device) -> Noise:
        """Draws noise: one for the whole batch (rows None), or one for each of `rows` rows."""
        shape = () if rows is None else (rows,)
        return (
            signed_root(torch.randn(*shape, self.inputs, device=device)),
            signed_root(torch.randn(*shape, self.outputs, device=device)),
        )


def rows_of(noises: Noises, rows: Any) -> Noises:
    """The noise [K,…] of some rows, by a slice or by their numbers."""
    return [pair and (pair[0][rows], pair[1][rows]) for pair in noises]


class PlainLinear(nn.Linear):
    """A linear layer with the interface of a noisy one, but without noise."""

    def forward(self, x: Tensor, noise: Noise | None = None) -> Tensor:
        return super().forward(x)


def signed_root(x: Tensor) -> Tensor:
    """f(x) = sgn(x) √|x|, the paper's transform of the Gaussian."""
    return x.sign() * x.abs().sqrt()
