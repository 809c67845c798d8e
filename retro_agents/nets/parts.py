"""The optional parts and the widths of encoders, as flags spell them."""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from retro_agents.ground.errors import UserError

EncoderName = Literal["nature", "data-efficient", "impala", "mobilenet", "xresnet"]
ALL: tuple[str, ...] = get_args(EncoderName)
RESIDUAL = ("impala", "xresnet")
PARTS = {
    "shifted": ALL,
    "attention": ALL,
    "frame-attention": ALL,
    **dict.fromkeys(("pool-first", "max-pool", "spectral-norm", "strided"), ("impala",)),
    **dict.fromkeys(("separable", "group-norm", "squeeze-excite"), RESIDUAL),
    **dict.fromkeys(("batch-norm", "weight-standardisation", "swish"), RESIDUAL),
    **dict.fromkeys(("stem", "max-stem", "max-strides", "max-shortcut"), ("xresnet",)),
}
"""Optional parts, and the encoders that accept them."""
APART = {
    "spectral-norm": ("separable", "group-norm", "batch-norm", "weight-standardisation"),
    "group-norm": ("batch-norm",),
    "stem": ("max-stem",),
}
"""Parts, and those that they exclude: both would replace the same layers."""
WIDTH = "[1-9][0-9]*"


def parse_widths(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Parses a flag's widths and strides: "16,32,32" has no strides, "32:2,32:1" has both, "" has
    neither. Raises UserError for any other text."""
    parts = [part.strip() for part in text.split(",")] if text else []
    plain, strided = (
        all(re.fullmatch(form, part) for part in parts) for form in (WIDTH, f"{WIDTH}:[12]")
    )
    if not plain and not strided:
        raise UserError(
            f"bad --widths {text!r}; expected numbers of channels such as 16,32,32, or each with a "
            "stride of 1 or 2 such as 32:2,32:1"
        )
    pairs = [part.partition(":") for part in parts]
    widths = tuple(int(width) for width, _, _ in pairs)
    return widths, tuple(int(stride) for _, _, stride in pairs if stride)


def parse_parts(text: str, encoder: str) -> tuple[str, ...]:
    """Parses a flag's parts, such as "shifted,pool-first" or "". Raises UserError if a part is
    unknown, or not for this encoder."""
    parts = tuple(part.strip() for part in text.split(",")) if text else ()
    for part in parts:
        if encoder not in PARTS.get(part, ()):
            known = [name for name, takers in PARTS.items() if encoder in takers]
            raise UserError(
                f"bad --encoder-parts {text!r}: encoder {encoder!r} takes {', '.join(known)}, "
                f"not {part!r}"
            )
    return parts


def check_fit(parts: Sequence[str], *, pool: bool) -> None:
    """Raises UserError if parts exclude each other, or do not fit `pool`."""
    if "pool-first" in parts and not pool:
        raise UserError(
            "--encoder-parts pool-first sets the place of --pool: give --pool too, or leave "
            "pool-first out"
        )
    if "max-pool" in parts and pool:
        raise UserError(
            "--encoder-parts max-pool replaces --pool: give --no-pool, or leave max-pool out"
        )
    if "weight-standardisation" in parts and "group-norm" not in parts:
        raise UserError(
            "--encoder-parts weight-standardisation needs group-norm behind it, without which the "
            "numbers grow from layer to layer: add group-norm"
        )
    for part, others in APART.items():
        if part in parts and (both := [other for other in others if other in parts]):
            raise UserError(
                f"--encoder-parts {part} replaces the same layers as {both[0]}: leave one of them "
                "out"
            )
