"""The state of torch's Adam, AdamW or RMSprop as named tensors, as checkpoints hold them."""

from collections.abc import Mapping

import torch


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """An optimiser's tensors by "parameter.name": all the state that it has."""
    return {
        f"{index}.{name}": value
        for index, entries in optimiser.state_dict()["state"].items()
        for name, value in entries.items()
    }


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]
) -> None:
    """Put what `optimiser_tensors` returned into an optimiser over the same parameters. Its
    settings, such as the learning rate, stay as they are."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        index, _, name = key.partition(".")
        state.setdefault(int(index), {})[name] = value
    settings = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": settings})
    for parameter, entries in optimiser.state.items():
        for name, value in entries.items():
            if value.shape == parameter.shape:
                # Fused kernels walk memory: a state laid out unlike its parameter is garbage.
                entries[name] = torch.empty_like(parameter, requires_grad=False).copy_(value)
            else:  # the step counter: shared with a living optimiser it would count twice
                entries[name] = value.clone()
