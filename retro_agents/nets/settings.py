"""The settings of an agent's net, and of how it is computed: sections of its config."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.policy import Play
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Threads, check
from retro_agents.nets.parts import EncoderName, parse_parts, parse_widths
from retro_agents.run.fields import machine, report, shape

Initialisation = Literal["default", "orthogonal", "xavier", "xavier-all", "kaiming"]


@dataclass(frozen=True)
class NetSettings:
    """The net: convolutions, followed by fully connected layers, and how it plays."""

    encoder: EncoderName = shape("nature", group="The net", other_names=("architecture",))
    """Convolutional layers before the fully connected ones."""
    widths: str = shape("")
    """Channels of nature's convolutions, or of each stage of impala, mobilenet, xresnet, such as
    16,32,32; for xresnet's blocks also with strides, such as 32:2,32:1; empty: the default."""
    pool: bool = shape(False)
    """Keep only each channel's mean, so that images may have any size; not for data-efficient."""
    encoder_parts: str = shape("")
    """Additions to the encoder, separated by commas: attention, frame-attention, shifted,
    pool-first, max-pool, strided, separable, group-norm, batch-norm, spectral-norm,
    weight-standardisation, squeeze-excite, swish, stem, max-stem, max-strides, max-shortcut."""
    hidden: Count = shape(512, other_names=("feature_dim",))
    """Units of each fully connected layer before the outputs."""
    play: Play = report("draw", group="Evaluation")
    """How the agent plays when it does not learn, unless a command says otherwise. best: the most
    probable action, or the one of the highest value; draw: as while it learns (a policy samples its
    actions, Rainbow keeps its noise); draw:T: sampled at the temperature T; epsilon:E: the best
    action, but a random one with probability E. Choose it on training levels."""

    def __post_init__(self) -> None:
        check(self)
        parse_widths(self.widths)
        parse_parts(self.encoder_parts, self.encoder)
        if self.encoder == "data-efficient" and (self.widths or self.pool):
            raise UserError(
                "--encoder data-efficient has a fixed size: give --widths '' --no-pool, or another "
                "encoder"
            )


@dataclass(frozen=True)
class ComputeSettings:
    """How an agent computes its nets."""

    precision: Literal["auto", "fp32", "bf16"] = machine("fp32", "learning")
    """Arithmetic of the nets (fp32 on a GPU multiplies matrices in TF32); losses and targets are
    always fp32. auto: bf16 on a GPU, and on an x86 CPU where it is faster (AMX, AMD's AVX-512)."""
    torch_threads: Threads = machine(0)
    """CPU threads of the learner; 0: PyTorch decides."""

    def __post_init__(self) -> None:
        check(self)
