"""Gradients, accumulated over microbatches that are computed in several threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

Gradients = tuple[list[Tensor], dict[str, Tensor]]
"""A microbatch's gradients, one for each parameter, and summed metrics."""


class GradientThreads:
    """Threads that each compute the gradients of a whole microbatch, so that they wait for one
    another once per step instead of at every layer. A net with running moments has one thread,
    because their values depend on the order of the microbatches."""

    def __init__(self, count: int, net: nn.Module) -> None:
        count = 1 if any(True for _ in net.buffers()) else count
        self.count = count
        self._pool = ThreadPoolExecutor(count, "learner", partial(torch.set_num_threads, 1))

    def backward(
        self,
        work: Callable[..., Gradients],
        *microbatches: Sequence[Any],
        parameters: Sequence[nn.Parameter],
    ) -> dict[str, Tensor]:
        """Set the parameters' gradients to the sum of those from `work` over microbatches, added in
        their order. Returns the sums of its metrics. microbatches: a sequence per argument."""
        apply = map if self.count == 1 else self._pool.map
        gradients: list[Tensor] = []
        sums: dict[str, Tensor] = {}
        for parts, metrics in apply(work, *microbatches):
            if gradients:
                torch._foreach_add_(gradients, parts)
            gradients = gradients or parts
            sums = {name: value + sums.get(name, 0.0) for name, value in metrics.items()}
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return sums
