"""Optional parts of encoders: norms, gates, attention, residual blocks."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad


class MeanOverImage(nn.Module):
    """The mean of each channel (global average pooling). [B,C,H,W] -> [B,C,1,1]."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3), keepdim=True)


class SqueezeExcite(nn.Module):
    """Each channel times a gate from 0 to 1, computed from all channels' means. [B,C,H,W] -> same.

    Source: Hu et al., arXiv:1709.01507; the gates' hidden layer has a quarter of the channels.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        squeezed = max(channels // 4, 1)
        self.gates = nn.Sequential(
            *(MeanOverImage(), nn.Conv2d(channels, squeezed, 1), nn.ReLU()),
            *(nn.Conv2d(squeezed, channels, 1), nn.Sigmoid()),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gates(x)


class GridMax(nn.Module):
    """The maxima of a grid of cells over the image. [B,C,H,W] -> [B,C,cells,cells].

    Source: PyTorch's AdaptiveMaxPool2d, which ONNX lacks.
    """

    def __init__(self, cells: int) -> None:
        super().__init__()
        self.cells = cells

    def forward(self, x: Tensor) -> Tensor:
        if not torch.compiler.is_exporting():
            return nn.functional.adaptive_max_pool2d(x, self.cells)
        for dim in (2, 3):
            size, cells = x.shape[dim], self.cells
            bounds = [(i * size // cells, -(-(i + 1) * size // cells)) for i in range(cells)]
            x = torch.stack([x.narrow(dim, a, b - a).amax(dim) for a, b in bounds], dim)
        return x


class SelfAttention(nn.Module):
    """Attention between all positions of the image: x + γ attention(x). [B,C,H,W] -> same.

    γ is learned and begins at 0, so an untrained layer changes nothing.
    Source: Zhang et al., arXiv:1805.08318 (SAGAN), with an eighth of the channels for the match.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = max(channels // 8, 1)
        self.query = nn.Conv2d(channels, inner, 1, bias=False)
        self.key = nn.Conv2d(channels, inner, 1, bias=False)
        self.value = nn.Conv2d(channels, channels, 1, bias=False)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            layer(x).flatten(2).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        if torch.compiler.is_exporting():  # ONNX has no such attention
            seen = (query @ key.transpose(1, 2)).softmax(2) @ value
        else:
            seen = nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)
        return x + self.gamma * seen.transpose(1, 2).reshape(x.shape)


class SpectralConv(nn.Conv2d):
    """A convolution whose weights are divided by their largest singular value as a matrix
    [outputs, the rest], so that it never stretches a patch of the image.

    Source: Miyato et al., arXiv:1802.05957. Differs: no state between passes; each pass takes 64
    steps of power iteration, by squaring the matrix times its transpose.
    """

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            matrix = self.weight.flatten(1)
            with torch.no_grad():
                power = matrix @ matrix.T
                for _ in range(6):
                    power = power @ power / power.square().sum()
                left = nn.functional.normalize(power[power.diagonal().argmax()[None]][0], dim=0)
                right = nn.functional.normalize(matrix.T @ left, dim=0)
            weight = self.weight / (left @ matrix @ right)
        return self._conv_forward(x, weight, self.bias)


class GroupNorm(nn.GroupNorm):
    """PyTorch's group norm with images made contiguous: its forward-mode derivative needs that."""

    def forward(self, x: Tensor) -> Tensor:
        forward_mode = forward_ad.unpack_dual(x).tangent is not None
        return super().forward(x.contiguous() if forward_mode else x)


def convolution(
    inputs: int, outputs: int, *, stride: int = 1, parts: Sequence[str] = ()
) -> nn.Module:
    """A 3×3 convolution. Of the parts, "separable" makes four maps of each channel alone and mixes
    them by a 1×1 convolution; "group-norm" normalises the output in up to 8 groups of channels.
    """
    layers: list[nn.Module] = []
    if "separable" in parts:
        layers.append(nn.Conv2d(inputs, 4 * inputs, 3, stride, 1, groups=inputs, bias=False))
        layers.append(nn.Conv2d(4 * inputs, outputs, 1))
    else:
        layers.append(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1))
    if "group-norm" in parts:
        layers.append(GroupNorm(math.gcd(8, outputs), outputs))
    return layers[0] if len(layers) == 1 else nn.Sequential(*layers)


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions, each after a ReLU, added to the input. [B,C,H,W] -> [B,C,H,W].

    parts: those of `convolution`, and "squeeze-excite" before the sum; "spectral-norm" uses
    `SpectralConv` instead.
    """

    def __init__(self, channels: int, parts: Sequence[str] = ()) -> None:
        super().__init__()
        self.first, self.second = (
            SpectralConv(channels, channels, 3, padding=1)
            if "spectral-norm" in parts
            else convolution(channels, channels, parts=parts)
            for _ in range(2)
        )
        self.gate = SqueezeExcite(channels) if "squeeze-excite" in parts else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.gate(self.second(torch.relu(self.first(torch.relu(x)))))
        return x + change


class XResidualBlock(nn.Module):
    """Two 3×3 convolutions with a ReLU between, added to the input, then a ReLU. [B,I,H,W] ->
    [B,O,H/stride,W/stride]. The input is averaged over each stride, and mixed by a 1×1 convolution
    where the number of channels changes.

    Source: He et al., arXiv:1812.01187 (ResNet-D). Differs: no batch normalisation.
    """

    def __init__(self, inputs: int, outputs: int, *, stride: int, parts: Sequence[str]) -> None:
        super().__init__()
        self.first = convolution(inputs, outputs, stride=stride, parts=parts)
        self.second = convolution(outputs, outputs, parts=parts)
        self.gate = SqueezeExcite(outputs) if "squeeze-excite" in parts else nn.Identity()
        shortcut: list[nn.Module] = [nn.AvgPool2d(2, ceil_mode=True)] if stride == 2 else []
        self.shortcut = nn.Sequential(
            *shortcut, *([nn.Conv2d(inputs, outputs, 1)] if inputs != outputs else [])
        )

    def forward(self, x: Tensor) -> Tensor:
        change = self.gate(self.second(torch.relu(self.first(x))))
        return torch.relu(self.shortcut(x) + change)
