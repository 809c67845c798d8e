"""Draws in proportion to priorities, and sums of them, in logarithmic time.

Source: Schaul et al., arXiv:1511.05952, appendix B.2.1.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SumTree:
    """Non-negative float64 leaves and, level by level, the sums of blocks of 32 of them.

    Sums are recomputed, never adjusted by differences, so rounding errors do not accumulate.
    """

    FANOUT = 32

    def __init__(self, size: int) -> None:
        self.size = size
        self.levels: list[Floats] = []
        while not self.levels or size > 1:
            size = -(-size // self.FANOUT)
            self.levels.append(np.zeros((size, self.FANOUT)))

    @property
    def leaves(self) -> Floats:
        """The leaves, float64 [size], to read only; `set` writes them."""
        return self.levels[0].reshape(-1)[: self.size]

    @property
    def total(self) -> float:
        """The sum of all leaves."""
        return float(self.levels[-1].sum())

    def set(self, indices: Ints, values: Floats | float) -> None:
        """Write leaves and every sum above them."""
        self.levels[0].reshape(-1)[indices] = values
        for below, above in zip(self.levels, self.levels[1:], strict=False):
            indices = indices // self.FANOUT
            above.reshape(-1)[indices] = below[indices].sum(axis=1)

    def find(self, masses: Floats) -> Ints:
        """For each mass in [0,total), the leaf where the running sum passes it; never one of 0."""
        rows = np.arange(len(masses))
        nodes = np.zeros(len(masses), np.int64)
        for level in reversed(self.levels):
            blocks = level[nodes]
            sums = blocks.cumsum(axis=1)
            masses = np.minimum(masses, np.nextafter(sums[:, -1], 0.0))
            children = (sums <= masses[:, None]).sum(axis=1)
            masses = np.maximum(masses - (sums[rows, children] - blocks[rows, children]), 0.0)
            nodes = nodes * self.FANOUT + children
        return nodes
