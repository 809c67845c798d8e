"""Torch's Adam, AdamW and RMSprop, and their state as named tensors for checkpoints."""

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch.optim.adam import adam
from torch.optim.rmsprop import rmsprop

Kind = TypeVar("Kind", bound=torch.optim.Optimizer)


def without_compiler(kind: type[Kind]) -> type[Kind]:
    """An optimiser of torch that behaves the same but does not import torch's compiler.

    The original imports it at construction and at each step, to exclude itself from tracing. That
    adds two seconds to each start, and no step here is compiled.
    """
    step = inspect.unwrap(kind.step)

    class Light(kind):  # type: ignore[valid-type, misc]
        def step(self, closure: Any = None) -> Any:
            with torch.no_grad():
                return step(self, closure)

    return Light


base = torch.optim.Optimizer
untraced: list[Any] = [base.add_param_group, base.zero_grad, base.state_dict, base.load_state_dict]
for function in map(inspect.unwrap, [*untraced, adam, rmsprop]):
    # Torch imports its compiler for this attribute only if it is missing.
    setattr(function, "__dynamo_disable", function)

Adam = without_compiler(torch.optim.Adam)
AdamW = without_compiler(torch.optim.AdamW)
RMSprop = without_compiler(torch.optim.RMSprop)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate, in its own memory where a CUDA graph reads it."""
    for settings in optimiser.param_groups:
        if isinstance(settings["lr"], torch.Tensor):
            settings["lr"].fill_(rate)
        else:
            settings["lr"] = rate


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """An optimiser's complete state: tensors by "parameter.name"."""
    return {
        f"{index}.{name}": value
        for index, entries in optimiser.state_dict()["state"].items()
        for name, value in entries.items()
    }


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]
) -> None:
    """Restore the tensors of `optimiser_tensors` in an optimiser of the same parameters. Its
    settings, such as the learning rate, stay unchanged. Raises ValueError if they do not fit."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = value
    settings = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": settings})
    for parameter, entries in optimiser.state.items():
        for name, value in entries.items():
            if value.shape == parameter.shape:
                # Fused kernels walk memory, so a state must be laid out like its parameter.
                entries[name] = torch.empty_like(parameter, requires_grad=False).copy_(value)
            elif value.ndim:  # fused kernels would read beyond it
                raise ValueError(f"{name} is {[*value.shape]}, of weights {[*parameter.shape]}")
            else:  # the step counter: shared with the original optimiser, it would count twice
                entries[name] = value.clone()
