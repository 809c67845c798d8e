"""CUDA graphs: a function's kernels, recorded once and started together afterwards."""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]


@final
class Graphed:
    """A function of tensors, which on a CUDA device becomes a graph for each shape of its inputs.

    The first call runs the function itself, the second records it. From then on, a call copies the
    inputs, which may be in pinned memory, and starts the graph; its outputs are valid until the
    next call. The function must read and write its other tensors in place, and may not wait for the
    device.
    """

    def __init__(self, function: Callable[..., Tensors], device: torch.device, *, on: bool) -> None:
        """on: whether to make graphs at all; otherwise each call runs the function."""
        self.function, self.device, self.on = function, device, on and device.type == "cuda"
        self.graphs: dict[Any, tuple[torch.cuda.CUDAGraph, Tensors, Tensors] | None] = {}

    def __call__(self, *inputs: Tensor) -> Tensors:
        if not self.on:
            return self.function(*inputs)
        shapes = tuple(value.shape for value in inputs)
        with torch.cuda.device(self.device):  # new streams are of the current one
            if shapes not in self.graphs:
                self.graphs[shapes] = None
                return self.warmed_up(inputs)
            graph, places, outputs = self.graphs[shapes] or self.record(inputs)
        self.graphs[shapes] = graph, places, outputs
        for place, value in zip(places, inputs, strict=True):
            place.copy_(value, non_blocking=True)
        graph.replay()
        return outputs

    def warmed_up(self, inputs: Tensors) -> Tensors:
        """The function's outputs, computed on a stream of its own, as recording requires."""
        here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            outputs = self.function(*(value.to(self.device) for value in inputs))
        here.wait_stream(aside)
        return outputs

    def record(self, inputs: Tensors) -> tuple[torch.cuda.CUDAGraph, Tensors, Tensors]:
        """A graph, and where its inputs and outputs are."""
        places = tuple(value.to(self.device, copy=True) for value in inputs)
        graph, cached = torch.cuda.CUDAGraph(), torch.is_autocast_cache_enabled()
        # A graph must cast the weights anew each time: they change, and cached casts are freed.
        torch.set_autocast_cache_enabled(False)
        try:
            with torch.cuda.graph(graph, stream=torch.cuda.Stream()):  # its own is of one device
                outputs = self.function(*places)
        finally:
            torch.set_autocast_cache_enabled(cached)
        return graph, places, outputs
