"""Convolutional encoders: uint8 images in, a flat feature vector out."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from retro_agents.ground.errors import UserError
from retro_agents.nets.blocks import (
    GridMax,
    MeanOverImage,
    OverFrames,
    ResidualBlock,
    SelfAttention,
    XResidualBlock,
    activation,
    convolution,
)
from retro_agents.nets.initialise import kaiming
from retro_agents.nets.parts import check_fit, parse_parts, parse_widths
from retro_agents.nets.pixels import PixelConv, Pixels
from retro_agents.nets.settings import NetSettings


def width_of(layers: nn.Module, image: tuple[int, int, int], *, what: str) -> int:
    """Number of features that layers make of an image [C,H,W]. Raises UserError, which calls the
    layers `what`, if the image is too small for them."""
    try:
        with torch.no_grad():
            return int(layers(torch.zeros(1, *image)).shape[1])
    except RuntimeError as error:
        if "Kernel size" not in str(error):
            raise
        raise UserError(
            f"images of {image[1]}x{image[2]} pixels are too small for {what}: give a larger "
            "--image-height and --image-width"
        ) from None


class Encoder(nn.Module):
    """uint8 [B,C,H,W] -> float [B,features]: convolutions whose output is flattened."""

    def __init__(self, layers: Sequence[nn.Module], image: tuple[int, int, int]) -> None:
        super().__init__()
        self.image = image
        self.convolutions = nn.Sequential(*layers, nn.Flatten())
        self.features = width_of(self.convolutions, image, what="this encoder")

    def forward(self, obs: Tensor) -> Tensor:
        return self.convolutions(obs)


def with_last_layers(
    layers: Sequence[nn.Module], channels: int, parts: Sequence[str], *, pool: bool = False
) -> list[nn.Module]:
    """Appends self-attention, if it is among the parts, and with `pool` the mean over the image."""
    attention = [SelfAttention(channels)] if "attention" in parts else []
    return [*layers, *attention, *([MeanOverImage()] if pool else [])]


def nature(
    image: tuple[int, int, int],
    *,
    widths: Sequence[int] = (32, 64, 64),
    pool: bool = False,
    parts: Sequence[str] = (),
) -> Encoder:
    """Three convolutions for images [C,H,W]. Half the widths take a third of the work.

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning".
    """
    if len(widths) != 3:
        raise UserError(f"encoder 'nature' has three widths, not {len(widths)}")
    first, second, third = widths
    layers = [
        PixelConv(image[0], first, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(first, second, 4, stride=2),
        nn.ReLU(),
        nn.Conv2d(second, third, 3, stride=1),
        nn.ReLU(),
    ]
    return Encoder(with_last_layers(layers, third, parts, pool=pool), image)


def data_efficient(image: tuple[int, int, int], *, parts: Sequence[str] = ()) -> Encoder:
    """Two convolutions of stride 5 for images [C,H,W], a sixth of `nature`'s work.

    Source: van Hasselt et al., arXiv:1906.05243, the net of data-efficient Rainbow.
    """
    layers = [
        PixelConv(image[0], 32, 5, stride=5),
        nn.ReLU(),
        nn.Conv2d(32, 64, 5, stride=5),
        nn.ReLU(),
    ]
    return Encoder(with_last_layers(layers, 64, parts), image)


def impala(
    image: tuple[int, int, int],
    *,
    widths: Sequence[int] = (16, 32, 32),
    pool: bool = False,
    parts: Sequence[str] = (),
) -> Encoder:
    """Residual net for images [C,H,W]: per width a convolution, a max-pool, two residual blocks.

    pool: only the mean of each channel is output, so that the features do not grow with the image;
    it is taken before the last ReLU if "pool-first" is among the parts. The part "max-pool" outputs
    each channel's maximum in 6×6 parts of the image instead (Clark et al., arXiv:2411.03820), the
    part "strided" has a stride of 2 in each width's convolution instead of a max-pool.
    Source: Espeholt et al., arXiv:1802.01561, the "large" network, without its LSTM.
    """
    layers: list[nn.Module] = []
    inputs, stride = image[0], 2 if "strided" in parts else 1
    for outputs in widths:
        layers += [
            convolution(inputs, outputs, stride=stride, parts=parts)
            if layers
            else PixelConv(inputs, outputs, 3, stride=stride, padding=1)
        ]
        layers += [nn.MaxPool2d(3, stride=2, padding=1)] if stride == 1 else []
        layers += [ResidualBlock(outputs, parts), ResidualBlock(outputs, parts)]
        inputs = outputs
    end: list[nn.Module] = [activation(parts), *([MeanOverImage()] if pool else [])]
    end = end[::-1] if "pool-first" in parts else end
    end = [*end, GridMax(6)] if "max-pool" in parts else end
    return Encoder([*with_last_layers(layers, inputs, parts), *end], image)


def separable(inputs: int, outputs: int, *, stride: int) -> list[nn.Module]:
    """A 3×3 convolution of each channel alone, then a 1×1 one across channels, a ReLU after each.
    They take an eighth to a ninth of the work of a full 3×3 convolution."""
    return [
        nn.Conv2d(inputs, inputs, 3, stride=stride, padding=1, groups=inputs),
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, 1),
        nn.ReLU(),
    ]


def mobilenet(
    image: tuple[int, int, int],
    *,
    widths: Sequence[int] = (16, 32, 64, 128),
    pool: bool = False,
    parts: Sequence[str] = (),
) -> Encoder:
    """Separable convolutions for images [C,H,W]: a full 3×3 convolution for the first width, two
    separable ones for each further width. Every width halves the image.

    Source: Howard et al., arXiv:1704.04861. Differs: sized for small images, and weights scaled for
    ReLUs instead of batch normalisation, for which an agent's batches are too uniform.
    """
    layers = [PixelConv(image[0], widths[0], 3, stride=2, padding=1), nn.ReLU()]
    for inputs, outputs in pairwise(widths):
        layers += separable(inputs, outputs, stride=2)
        layers += separable(outputs, outputs, stride=1)
    kaiming(nn.Sequential(*layers))
    return Encoder(with_last_layers(layers, widths[-1], parts, pool=pool), image)


def xresnet(
    image: tuple[int, int, int],
    *,
    widths: Sequence[int] = (32, 32, 64, 64, 64, 64, 64),
    strides: Sequence[int] = (),
    pool: bool = False,
    parts: Sequence[str] = (),
) -> Encoder:
    """A residual block per width for images [C,H,W]. Blocks of stride 2 halve the image; without
    strides, those are the first three. Before them, the part "stem" has three convolutions of the
    first width, one of stride 2 (He et al., arXiv:1812.01187, ResNet-C, without its max-pool), the
    part "max-stem" one and a max-pool."""
    layers, first = list[nn.Module]([Pixels()]), image[0]
    if "stem" in parts:
        for stride in (2, 1, 1):
            layers += [convolution(first, widths[0], stride=stride, parts=parts), activation(parts)]
            first = widths[0]
    if "max-stem" in parts:
        layers += [convolution(first, widths[0], parts=parts), activation(parts)]
        layers += [nn.MaxPool2d(3, stride=2, padding=1)]
        first = widths[0]
    strides = strides or [2 if number < 3 else 1 for number in range(len(widths))]
    for (inputs, outputs), stride in zip(pairwise((first, *widths)), strides, strict=True):
        layers.append(XResidualBlock(inputs, outputs, stride=stride, parts=parts))
    return Encoder(with_last_layers(layers, widths[-1], parts, pool=pool), image)


ENCODERS: dict[str, Callable[..., Encoder]] = {
    "nature": nature,
    "data-efficient": data_efficient,
    "impala": impala,
    "mobilenet": mobilenet,
    "xresnet": xresnet,
}


def encoder_of(net: NetSettings, image: tuple[int, int, int], *, frames: int = 1) -> Encoder:
    """The encoder of a config, for images [C,H,W] of so many frames. Raises UserError as
    `make_encoder`, or if a list is malformed."""
    widths, strides = parse_widths(net.widths)
    return make_encoder(
        net.encoder,
        image,
        widths=widths,
        strides=strides,
        pool=net.pool,
        parts=parse_parts(net.encoder_parts, net.encoder),
        frames=frames,
    )


def over_frames(make: Callable[..., Encoder], image: tuple[int, int, int], frames: int) -> Encoder:
    """The encoder that `make` makes for one frame, with attention over so many of them."""
    if frames == 1:
        raise UserError(
            "--encoder-parts frame-attention needs several frames: give a --frame-stack above 1, "
            "or for Procgen more --frames"
        )
    one = image[0] // frames, *image[1:]
    *layers, _ = make(one).convolutions  # all but Flatten
    each = nn.Sequential(*layers)
    channels = width_of(each, one, what="this encoder")
    return Encoder([OverFrames(each, channels, frames)], image)


def make_encoder(
    name: str,
    image: tuple[int, int, int],
    *,
    widths: Sequence[int] = (),
    strides: Sequence[int] = (),
    pool: bool = False,
    parts: Sequence[str] = (),
    frames: int = 1,
) -> Encoder:
    """The encoder `name`, a key of ENCODERS, for images [C,H,W], laid out channels last.

    widths, strides: of each stage; if empty, the encoder's own. pool: average over the image at the
    end. parts: of PARTS. frames: in an image, along C. Raises UserError for strides if the encoder
    has its own, for parts that exclude each other, and for attention over a single frame.
    """
    options: dict[str, Any] = {"parts": parts, **({"pool": True} if pool else {})}
    if widths:
        options["widths"] = tuple(widths)
    if strides:
        options["strides"] = tuple(strides)
        if name != "xresnet":
            raise UserError(
                f"encoder {name!r} has strides of its own: --widths gives xresnet's only"
            )
    check_fit(parts, pool=pool)
    make = partial(ENCODERS[name], **options)
    encoder = over_frames(make, image, frames) if "frame-attention" in parts else make(image)
    for layer in encoder.modules():
        if isinstance(layer, PixelConv | Pixels) and "shifted" in parts:
            layer.shift = 128
    return encoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
