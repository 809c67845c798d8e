"""Gradients that are computed piece by piece, on as many threads as there are."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

Piece = tuple[list[Tensor], dict[str, Tensor]]
"""Gradients of a piece, one for each parameter, and sums of metrics."""


class Pieces:
    """Threads that each compute a piece of a batch by itself, so that they wait for one another
    once per step instead of at every layer."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, "learner", partial(torch.set_num_threads, 1))

    def backward(
        self, work: Callable[..., Piece], *pieces: Sequence[Any], parameters: Sequence[nn.Parameter]
    ) -> dict[str, Tensor]:
        """Give the parameters the sum of the gradients that `work` finds, piece by piece -> the
        sums of its metrics. pieces: of each of its arguments; added up in their order."""
        apply = map if self.threads == 1 else self._pool.map
        gradients: list[Tensor] = []
        sums: dict[str, Tensor] = {}
        for parts, metrics in apply(work, *pieces):
            if gradients:
                torch._foreach_add_(gradients, parts)
            gradients = gradients or parts
            sums = {name: value + sums.get(name, 0.0) for name, value in metrics.items()}
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return sums
