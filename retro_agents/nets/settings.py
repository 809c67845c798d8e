"""What an agent's config says of its net: a section of it."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.ground.ranges import Count, check
from retro_agents.run.fields import shape

EncoderName = Literal["nature", "data-efficient", "impala", "mobilenet", "xresnet"]
Initialisation = Literal["default", "orthogonal", "xavier", "xavier-all", "kaiming"]


@dataclass(frozen=True)
class NetSettings:
    """The net: convolutions, and the fully connected layers behind them."""

    encoder: EncoderName = shape("nature", group="The net", other_names=("architecture",))
    """Convolutions before the fully connected layers."""
    widths: str = shape("")
    """Channels of nature's convolutions, or of each stage of impala, mobilenet, xresnet, such as
    16,32,32; of xresnet's blocks also with strides, such as 32:2,32:1; empty: their own."""
    pool: bool = shape(False)
    """Keep each channel's mean only, so that images may have any size; not of data-efficient."""
    encoder_parts: str = shape("")
    """What the encoder has besides, with commas between: attention, shifted, pool-first, max-pool,
    separable, group-norm, spectral-norm, squeeze-excite."""
    hidden: Count = shape(512, other_names=("feature_dim",))
    """Units of each fully connected layer before the outputs."""

    def __post_init__(self) -> None:
        check(self)
