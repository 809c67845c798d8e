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
from retro_agents.run.fields import flag_with

PREFIX = "encoder."
WEIGHTLESS = "encoder_parts", "widths"
"""Settings of a net that the names and shapes of its weights need not show."""
SEEN = "colour", "frames"
"""Settings of images that the shapes of weights need not show."""


def load_encoder(
    encoder: Encoder, source: Path | str, settings: NetSettings, *, env: Any = None
) -> None:
    """Give `encoder`, made with these settings, the weights of the encoder in `source`: a
    checkpoint or run folder of any agent whose net has an `encoder`, or a file of baselines' PPO2.
    env: the settings of the images that it will see.

    Raises UserError if `source` cannot be read, or its net has no encoder or another one, or saw
    other frames.
    """
    with reading(Path(source)):
        state, made = _encoder_weights(source, encoder.image)
        name = made.get("encoder", "unnamed")
        check_encoder(made, vars(settings), source=source)
        for key in SEEN:  # each family has one of them
            if (seen := made.get(key)) not in (None, getattr(env, key, seen)):
                same = f"give {flag_with(key, seen)}"
                raise UserError(f"{source} was trained with other frames than this run; {same}")
    same = "the same --encoder, image, colour and frame stack"
    load_net(encoder, state, f"{source} holds another encoder ({name}: {{}}); use {same}")


def check_encoder(
    theirs: Mapping[str, Any], ours: Mapping[str, Any], *, source: Path | str
) -> None:
    """Raises UserError if the encoder in `source` has other --encoder-parts, or other strides in
    --widths, than ours: its weights alone would fit. theirs, ours: flat configs."""
    parts, widths = ([one.get(name, "") for one in (theirs, ours)] for name in WEIGHTLESS)
    found, wanted = ({part.strip() for part in text.split(",")} for text in parts)
    if found != wanted:
        raise UserError(
            f"{source} holds an encoder with the parts {parts[0]!r}, not {parts[1]!r}: give the "
            "same --encoder-parts"
        )
    if parse_widths(widths[0])[1] != parse_widths(widths[1])[1]:
        raise UserError(
            f"{source} holds an encoder with --widths {widths[0]!r}, not {widths[1]!r}: give the "
            "same"
        )


@torch.no_grad()
def follow(net: nn.Module, other: nn.Module, *, rate: float) -> None:
    """Move each parameter and running moment of `net` by the share `rate` towards the same one of
    `other`."""
    ours, theirs = ([*one.parameters(), *one.buffers()] for one in (net, other))
    for value, aim in zip(ours, theirs, strict=True):
        value.lerp_(aim, rate)


def load_net(module: nn.Module, weights: Mapping[str, Tensor], otherwise: str) -> None:
    """Give a module these weights. Raises UserError on a mismatch: `otherwise`, with the reason in
    place of its {}."""
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
