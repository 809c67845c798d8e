"""Convolutional encoders: uint8 images in, a flat feature vector out."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class PixelConv(nn.Conv2d):
    """A first convolution that takes uint8 [B,C,H,W] as pixels in [0,1].

    The division by 255 is done on the few weights instead of the many pixels; 0…255 are exact in
    bf16. Images are laid out channels last, the faster layout on either kind of device.
    """

    def forward(self, obs: Tensor) -> Tensor:
        device = obs.device.type
        half = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if half else self.weight.dtype
        pixels = obs.contiguous(memory_format=torch.channels_last).to(dtype)
        return self._conv_forward(pixels, self.weight * (1.0 / 255.0), self.bias)


class NatureEncoder(nn.Module):
    """Three convolutions without pooling. uint8 [B,C,H,W] -> float [B,features].

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning".
    """

    def __init__(self, channels: int, height: int, width: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            PixelConv(channels, 32, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.features = count_features(self.convolutions, channels, height, width)

    def forward(self, obs: Tensor) -> Tensor:
        return self.convolutions(obs)


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions, each behind a ReLU, added to the input. [B,C,H,W] -> [B,C,H,W]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(torch.relu(self.first(torch.relu(x))))


class ImpalaEncoder(nn.Module):
    """Residual encoder: per width a 3×3 convolution, a 3/2 max-pool and two residual blocks.
    uint8 [B,C,H,W] -> float [B,features].

    Source: Espeholt et al., arXiv:1802.01561, the "large" network, without its LSTM.
    """

    def __init__(
        self, channels: int, height: int, width: int, *, widths: Sequence[int] = (16, 32, 32)
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = channels
        for outputs in widths:
            first = PixelConv if not layers else nn.Conv2d
            layers += [
                first(inputs, outputs, 3, padding=1),
                nn.MaxPool2d(3, stride=2, padding=1),
                ResidualBlock(outputs),
                ResidualBlock(outputs),
            ]
            inputs = outputs
        self.convolutions = nn.Sequential(*layers, nn.ReLU(), nn.Flatten())
        self.features = count_features(self.convolutions, channels, height, width)

    def forward(self, obs: Tensor) -> Tensor:
        return self.convolutions(obs)


def count_features(layers: nn.Module, channels: int, height: int, width: int) -> int:
    """The width of the flat output of `layers` for one [channels,height,width] image."""
    with torch.no_grad():
        return int(layers(torch.zeros(1, channels, height, width)).shape[1])


ENCODERS = {"nature": NatureEncoder, "impala": ImpalaEncoder}


def make_encoder(name: str, channels: int, height: int, width: int) -> nn.Module:
    """The encoder of that name (a key of ENCODERS), its weights laid out channels last."""
    encoder = ENCODERS[name](channels, height, width)
    return encoder.to(memory_format=torch.channels_last)
