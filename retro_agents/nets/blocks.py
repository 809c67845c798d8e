"""Optional parts of encoders: norms, gates, attention, activations, residual blocks."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn import functional


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
    Source: Zhang et al., arXiv:1805.08318 (SAGAN), queries and keys of an eighth of the channels.
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


class FrameAttention(nn.Module):
    """Attention of the newest of F frames to all of them, place by place: the newest frame plus the
    frames' values, weighted. [B,F,C,H,W] -> [B,C,H,W].

    Each frame is told apart by a learned vector for its place in the stack, which begins at 0.
    Source: Vaswani et al., arXiv:1706.03762, eq. 1, queries and keys of an eighth of the channels.
    """

    def __init__(self, channels: int, frames: int) -> None:
        super().__init__()
        inner = max(channels // 8, 1)
        self.places = nn.Parameter(torch.zeros(frames, channels, 1, 1))
        self.query = nn.Conv2d(channels, inner, 1, bias=False)
        self.key = nn.Conv2d(channels, inner, 1, bias=False)
        self.value = nn.Conv2d(channels, channels, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.places
        newest, frames = x[:, -1], x.shape[1]
        keys, values = (layer(x.flatten(0, 1)) for layer in (self.key, self.value))
        match = self.query(newest)[:, None] * keys.unflatten(0, (-1, frames))
        weights = (match.sum(dim=2) / math.sqrt(match.shape[2])).softmax(dim=1)  # [B,F,H,W]
        return newest + (weights[:, :, None] * values.unflatten(0, (-1, frames))).sum(dim=1)


class OverFrames(nn.Module):
    """Layers that see each frame alone, then `FrameAttention`. uint8 [B,F·c,H,W] -> [B,C,h,w]."""

    def __init__(self, layers: nn.Module, channels: int, frames: int) -> None:
        super().__init__()
        self.layers, self.frames = layers, frames
        self.attention = FrameAttention(channels, frames)

    def forward(self, obs: Tensor) -> Tensor:
        seen: Tensor = self.layers(obs.unflatten(1, (self.frames, -1)).flatten(0, 1))
        return self.attention(seen.unflatten(0, (-1, self.frames)))


class StandardisedConv(nn.Conv2d):
    """A convolution whose weights have mean 0 and deviation 1 over each output's inputs.

    Source: Qiao et al., arXiv:1903.10520, eq. 4 and 5.
    """

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            variance, mean = torch.var_mean(self.weight, dim=(1, 2, 3), correction=0, keepdim=True)
            weight = (self.weight - mean) / (variance + 1e-5).sqrt()
        return self._conv_forward(x, weight, self.bias)


class BatchNorm(nn.Module):
    """Batch normalisation without modes: a pass with gradient normalises by the moments of its own
    images and mixes them into the running ones, any other pass uses the running ones.

    Source: Ioffe and Szegedy, arXiv:1502.03167; a tenth is mixed in, as in PyTorch.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale, self.offset = (nn.Parameter(f(channels)) for f in (torch.ones, torch.zeros))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        return functional.batch_norm(
            x,
            self.mean,
            self.variance,
            self.scale,
            self.offset,
            training=torch.is_grad_enabled(),
        )


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
    them by a 1×1 convolution; "weight-standardisation" uses `StandardisedConv`; "group-norm"
    normalises the output in up to 8 groups of channels, "batch-norm" each channel over the batch.
    """
    layers: list[nn.Module] = []
    conv = StandardisedConv if "weight-standardisation" in parts else nn.Conv2d
    if "separable" in parts:
        layers.append(conv(inputs, 4 * inputs, 3, stride, 1, groups=inputs, bias=False))
        layers.append(conv(4 * inputs, outputs, 1))
    else:
        layers.append(conv(inputs, outputs, 3, stride=stride, padding=1))
    if "group-norm" in parts:
        layers.append(GroupNorm(math.gcd(8, outputs), outputs))
    if "batch-norm" in parts:
        layers.append(BatchNorm(outputs))
    return layers[0] if len(layers) == 1 else nn.Sequential(*layers)


def activation(parts: Sequence[str]) -> nn.Module:
    """The function between layers: ReLU, or swish (Ramachandran et al., arXiv:1710.05941)."""
    return nn.SiLU() if "swish" in parts else nn.ReLU()


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions, each after a ReLU, added to the input. [B,C,H,W] -> [B,C,H,W].

    parts: those of `convolution` and `activation`, and "squeeze-excite" before the sum;
    "spectral-norm" uses `SpectralConv` instead.
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
        self.active = activation(parts)

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.gate(self.second(self.active(self.first(self.active(x)))))
        return x + change


class XResidualBlock(nn.Module):
    """Two 3×3 convolutions with a ReLU between, added to the input, then a ReLU. [B,I,H,W] ->
    [B,O,H/stride,W/stride]. The input is averaged over each stride, and mixed by a 1×1 convolution
    where the number of channels changes.

    parts: as for `ResidualBlock`; "max-shortcut" takes the largest of each stride instead of the
    mean, "max-strides" the largest instead of a convolution with a stride.
    Source: He et al., arXiv:1812.01187 (ResNet-D). Differs: batch normalisation is a part.
    """

    def __init__(self, inputs: int, outputs: int, *, stride: int, parts: Sequence[str]) -> None:
        super().__init__()
        halved = stride == 2
        largest = halved and "max-strides" in parts
        first = convolution(inputs, outputs, stride=1 if largest else stride, parts=parts)
        self.first = nn.Sequential(first, nn.MaxPool2d(2, ceil_mode=True)) if largest else first
        self.second = convolution(outputs, outputs, parts=parts)
        self.gate = SqueezeExcite(outputs) if "squeeze-excite" in parts else nn.Identity()
        self.active = activation(parts)
        pool = nn.MaxPool2d if "max-shortcut" in parts else nn.AvgPool2d
        shortcut: list[nn.Module] = [pool(2, ceil_mode=True)] if halved else []
        self.shortcut = nn.Sequential(
            *shortcut, *([nn.Conv2d(inputs, outputs, 1)] if inputs != outputs else [])
        )

    def forward(self, x: Tensor) -> Tensor:
        change = self.gate(self.second(self.active(self.first(x))))
        return self.active(self.shortcut(x) + change)
