"""Gradients that are computed microbatch by microbatch, on as many threads as there are."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

Gradients = tuple[list[Tensor], dict[str, Tensor]]
"""Of a microbatch: gradients, one for each parameter, and sums of metrics."""


class GradientThreads:
    """Threads that each compute the gradients of a microbatch by itself, so that they wait for one
    another once per step instead of at every layer."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count, "learner", partial(torch.set_num_threads, 1))

    def backward(
        self,
        work: Callable[..., Gradients],
        *microbatches: Sequence[Any],
        parameters: Sequence[nn.Parameter],
    ) -> dict[str, Tensor]:
        """Give the parameters the sum of the gradients that `work` finds, microbatch by microbatch
        -> the sums of its metrics. microbatches: of each of its arguments; added up in their
        order."""
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
