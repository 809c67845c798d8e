"""Initial weights: orthogonal, with the gains of baselines' actor-critic nets, Xavier's, He's."""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from retro_agents.nets.noisy import NoisyLinear

RELU_GAIN = math.sqrt(2.0)
"""Gain of convolutions and hidden layers before a ReLU."""
POLICY_GAIN = 0.01
"""Gain of the logits' layer: all actions are nearly equal at first."""
VALUE_GAIN = 1.0
"""Gain of the values' layer."""
Layer = nn.Conv2d | nn.Linear | NoisyLinear


def orthogonal(module: nn.Module, *, gain: float) -> None:
    """Give every convolution and linear layer in `module`, itself included, orthogonal weights
    times `gain` and biases of zero; a noisy layer's are its mean weights. The first half of a
    separable convolution, which no ReLU follows, has a gain of 1.

    A kernel [out,in,h,w] is a matrix [out,in·h·w], one for each group of channels.
    Source: Saxe et al., arXiv:1312.6120.
    """

    def draw(layer: Layer) -> None:
        groups = layer.groups if isinstance(layer, nn.Conv2d) else 1
        own = 1.0 if _is_first_half(layer) else gain
        _fill(layer.weight, layer.weight.shape[0] // groups, own)

    _draw(module, draw)


def xavier(module: nn.Module) -> None:
    """Give every convolution and linear layer in `module`, itself included, weights drawn evenly
    from ±√(6 / (inputs + outputs)), a kernel's size counted in both, and biases of zero.

    Source: Glorot and Bengio 2010, eq. 16.
    """
    _draw(module, lambda layer: nn.init.xavier_uniform_(layer.weight))


def kaiming(module: nn.Module) -> None:
    """As `xavier`, with weights drawn from a Gaussian of deviation √(2 / inputs); √(1 / inputs) in
    the first half of a separable convolution, which no ReLU follows.

    Source: He et al., arXiv:1502.01852, eq. 10.
    """

    def draw(layer: Layer) -> Tensor:
        after: Literal["linear", "relu"] = "linear" if _is_first_half(layer) else "relu"
        return nn.init.kaiming_normal_(layer.weight, nonlinearity=after)

    _draw(module, draw)


@torch.no_grad()
def _draw(module: nn.Module, draw: Callable[[Layer], object]) -> None:
    for layer in module.modules():
        if isinstance(layer, Layer):
            draw(layer)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _is_first_half(layer: nn.Module) -> bool:
    """Whether a layer is the first half of a separable convolution: it has groups and no bias."""
    return isinstance(layer, nn.Conv2d) and layer.groups > 1 and layer.bias is None


def initialiser(name: str) -> Callable[[nn.Module], None]:
    """The function that sets xavier, xavier-all, kaiming or, by default, orthogonal weights, for
    layers before a ReLU."""
    others = {"xavier": xavier, "xavier-all": xavier, "kaiming": kaiming}
    return others.get(name, partial(orthogonal, gain=RELU_GAIN))


@torch.no_grad()
def orthogonal_gates(cells: nn.RNNBase) -> None:
    """Give each gate of a recurrent layer orthogonal weights of its own, and biases of zero."""
    for name, parameter in cells.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            _fill(parameter, cells.hidden_size, 1.0)


def _fill(weight: Tensor, rows: int, gain: float) -> None:
    """Make each block of `rows` rows of a matrix or kernel orthogonal."""
    for block in weight.split(rows):
        # Drawn separately: a kernel laid out channels last has no view as a matrix.
        block.copy_(nn.init.orthogonal_(torch.empty(block.shape, device=block.device), gain))
