"""Losses and weights that are not finite, and what a run says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from retro_agents.ground.errors import Diverged
from retro_agents.ground.files import complete_checkpoints
from retro_agents.run.fields import flag_with
from retro_agents.run.metrics import group

if TYPE_CHECKING:
    from torch import Tensor


def check_metrics(values: Mapping[str, float], folder: Path) -> None:
    """Raises Diverged if a metric of learning is not finite. folder: of the checkpoints."""
    for name, value in values.items():
        if group(name).startswith("train/") and not math.isfinite(value):
            raise diverged(f"{name} is {value}", folder)


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Returns the name of the first tensor that holds nan or inf, or None."""
    return next((name for name, tensor in tensors.items() if not tensor.isfinite().all()), None)


def diverged(what: str, folder: Path) -> Diverged:
    """Returns the error of a run whose learning has diverged. folder: of its checkpoints."""
    saved = complete_checkpoints(folder)[-1:]
    init = f" from the last good checkpoint, {flag_with('init', saved[0])}" if saved else ""
    way_out = f"start a new run{init}, for example with a lower learning rate"
    return Diverged(f"learning has diverged: {what}; {way_out}")
