"""Loads weights from checkpoints into nets: all weights, or those of another agent's encoder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from retro_agents.ground.errors import UserError
from retro_agents.nets.baselines import read_baselines
from retro_agents.nets.encoders import Encoder
from retro_agents.nets.parts import parse_widths
from retro_agents.nets.settings import NetSettings
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import flat
from retro_agents.run.distrust import reading

PREFIX = "encoder."


def load_net(
    net: nn.Module, weights: Mapping[str, Tensor], *, source: Path | str, instead: str
) -> None:
    """Give `net` these weights from `source`.

    Raises UserError if their shape is another one; `instead` says what to do.
    """
    _fit(net, weights, f"{source} holds a net of another shape ({{}}); {instead}")


def load_encoder(encoder: Encoder, source: Path | str, settings: NetSettings) -> None:
    """Give `encoder`, made with these settings, the weights of the encoder in `source`: a
    checkpoint or run folder of any agent whose net has an `encoder`, or a file of baselines' PPO2.

    Raises UserError if `source` cannot be read, or its net has no encoder or another one.
    """
    state, made = _encoder_weights(source, encoder.image)
    name = made.get("encoder", "unnamed")
    check_parts(made.get("encoder_parts", ""), settings.encoder_parts, source=source)
    check_strides(made.get("widths", ""), settings.widths, source=source)
    same = "the same --encoder, image, colour and frame stack"
    _fit(encoder, state, f"{source} holds another encoder ({name}: {{}}); use {same}")


def check_parts(theirs: str, ours: str, *, source: Path | str) -> None:
    """Raises UserError if the net in `source` has other --encoder-parts. Some parts have no
    weights, so the weights alone would fit."""
    found, wanted = ({part.strip() for part in text.split(",")} for text in (theirs, ours))
    if found != wanted:
        raise UserError(
            f"{source} holds an encoder with the parts {theirs!r}, not {ours!r}: give the same "
            "--encoder-parts"
        )


def check_strides(theirs: str, ours: str, *, source: Path | str) -> None:
    """Raises UserError if the net in `source` has other strides in --widths."""
    if parse_widths(theirs)[1] != parse_widths(ours)[1]:
        raise UserError(
            f"{source} holds an encoder with --widths {theirs!r}, not {ours!r}: give the same"
        )


@torch.no_grad()
def follow(net: nn.Module, other: nn.Module, *, rate: float) -> None:
    """Move each parameter and running moment of `net` by the share `rate` towards the same one of
    `other`."""
    ours, theirs = ([*one.parameters(), *one.buffers()] for one in (net, other))
    for value, aim in zip(ours, theirs, strict=True):
        value.lerp_(aim, rate)


def _fit(module: nn.Module, weights: Mapping[str, Tensor], otherwise: str) -> None:
    """Give a module these weights. Raises UserError, `otherwise` with the reason, on a mismatch."""
    ours = module.state_dict()
    for name in (*ours, *weights):
        wanted, found = (
            f"of {list(one[name].shape)}" if name in one else "absent" for one in (ours, weights)
        )
        if wanted != found:
            raise UserError(otherwise.replace("{}", f"{name} is {found} and must be {wanted}"))
    module.load_state_dict(weights)


def _encoder_weights(
    source: Path | str, image: tuple[int, int, int]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Returns the encoder's weights by their names in it, and the settings that made it."""
    made: dict[str, Any] = {"encoder": "nature"}
    if Path(source).is_file():
        weights = read_baselines(source, image=image)
    else:
        saved = load_checkpoint(source)
        made, weights = flat(saved.config), saved.tensors.get("net", {})
        with reading(saved.folder):
            for searched in made.get("searched", ()):  # es searches another agent's net
                made = flat(searched["config"])
    state = {
        key.removeprefix(PREFIX): value for key, value in weights.items() if key.startswith(PREFIX)
    }
    if not state:
        raise UserError(
            f"{source} holds no net with an encoder; give a checkpoint of an agent that learns a "
            "net, such as ppo2 or rainbow"
        )
    return state, made
