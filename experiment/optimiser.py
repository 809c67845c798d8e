"""A torch optimiser's state as named tensors and plain values, as checkpoints hold them."""

from collections.abc import Mapping
from typing import Any

import torch


def optimiser_parts(
    optimiser: torch.optim.Optimizer,
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """An optimiser -> (tensors by "parameter.name", its other state as plain values)."""
    saved = optimiser.state_dict()
    tensors: dict[str, torch.Tensor] = {}
    values: dict[str, Any] = {}
    for index, entries in saved["state"].items():
        for name, value in entries.items():
            target: dict[str, Any] = tensors if isinstance(value, torch.Tensor) else values
            target[f"{index}.{name}"] = value
    return tensors, {"values": values}


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor], plain: Mapping[str, Any]
) -> None:
    """Put what `optimiser_parts` returned into an optimiser over the same parameters. Its settings,
    such as the learning rate, stay as they are."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in (*tensors.items(), *plain["values"].items()):
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = value
    settings = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": settings})
    for parameter, entries in optimiser.state.items():
        for name, value in entries.items():
            if not isinstance(value, torch.Tensor):
                continue
            if value.shape == parameter.shape:
                # Fused kernels walk memory: a state laid out unlike its parameter is garbage.
                entries[name] = torch.empty_like(parameter, requires_grad=False).copy_(value)
            else:  # the step counter: shared with a living optimiser it would count twice
                entries[name] = value.clone()
