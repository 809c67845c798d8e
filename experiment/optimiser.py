"""A torch optimiser's state as named tensors and plain values, as checkpoints hold them."""

from collections.abc import Mapping
from typing import Any

import torch


def optimiser_parts(
    optimiser: torch.optim.Optimizer,
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """An optimiser -> (tensors by "parameter.name", everything else as plain values)."""
    saved = optimiser.state_dict()
    tensors: dict[str, torch.Tensor] = {}
    values: dict[str, Any] = {}
    for index, entries in saved["state"].items():
        for name, value in entries.items():
            target: dict[str, Any] = tensors if isinstance(value, torch.Tensor) else values
            target[f"{index}.{name}"] = value
    groups = [
        {key: _plain(value) for key, value in group.items()} for group in saved["param_groups"]
    ]
    return tensors, {"values": values, "groups": groups}


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor], plain: Mapping[str, Any]
) -> None:
    """Put what `optimiser_parts` returned into an optimiser over the same parameters."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in (*tensors.items(), *plain["values"].items()):
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = value
    groups = []
    for group, now in zip(plain["groups"], optimiser.state_dict()["param_groups"], strict=True):
        groups.append({key: _as_now(value, now.get(key)) for key, value in group.items()})
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    for parameter, entries in optimiser.state.items():
        for name, value in entries.items():
            if not isinstance(value, torch.Tensor):
                continue
            if value.shape == parameter.shape:
                # Fused kernels walk memory: a state laid out unlike its parameter is garbage.
                entries[name] = torch.empty_like(parameter, requires_grad=False).copy_(value)
            else:  # the step counter: shared with a living optimiser it would count twice
                entries[name] = value.clone()


def _plain(value: Any) -> Any:
    """A tensor learning rate (used under CUDA graphs) becomes a number, a tuple a list."""
    if isinstance(value, torch.Tensor):
        return value.item()
    return list(value) if isinstance(value, tuple) else value


def _as_now(value: Any, now: Any) -> Any:
    """The saved value in the form the living optimiser uses."""
    if isinstance(now, torch.Tensor):
        return torch.as_tensor(value, dtype=now.dtype, device=now.device)
    return tuple(value) if isinstance(now, tuple) else value
