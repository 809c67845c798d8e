"""The memory's entries, slot by slot, in arrays that are never moved."""

from collections.abc import Mapping
from typing import final

import numpy as np

from lsh_memory.plain import Floats, Slots

CENTRED_AT = 1024
BLOCK, PART = 256, 32  # entries: a block is compared as a whole, then searched by parts
FIELDS = ("vectors", "actions", "returns", "used")


@final
class Storage:
    """Slots 0…size-1 are in use. The operating system allocates a slot's memory when it is filled.

    vectors float32 [capacity,F] of length 1 (or 0); actions int32; returns float32; used int64: the
    time of the last write or find.
    centre float32 [F]: the mean of the first CENTRED_AT vectors, to which codes are relative; zeros
    before.
    """

    def __init__(self, features: int, capacity: int) -> None:
        self.size = self.clock = 0
        self.vectors = np.zeros((capacity, features), np.float32)
        self.actions = np.zeros(capacity, np.int32)
        self.returns = np.zeros(capacity, np.float32)
        self.used = np.zeros(capacity, np.int64)
        self.centre = np.zeros(features, np.float32)

    @property
    def capacity(self) -> int:
        """Number of slots."""
        return len(self.vectors)

    def next_slot(self) -> int:
        """The first free slot, or if there is none, the least recently used one."""
        if self.size < self.capacity:
            return self.size
        return int(self.used.argmin())

    def write(self, slot: int, vector: Floats, *, action: int, return_to_go: float) -> None:
        """Fill a slot that `next_slot` returned."""
        self.vectors[slot] = vector
        self.actions[slot], self.returns[slot] = action, return_to_go
        self.size = max(self.size, slot + 1)
        self.touch(slot)

    def merge(self, slot: int, *, return_to_go: float) -> None:
        """Merge a near-duplicate into a slot, which keeps the better return."""
        self.returns[slot] = max(float(self.returns[slot]), return_to_go)
        self.touch(slot)

    def touch(self, slots: int | Slots) -> None:
        """Mark these slots as used now."""
        self.clock += 1
        self.used[slots] = self.clock

    def take_centre(self) -> None:
        """Set the centre to the mean of all vectors."""
        self.centre[:] = self.vectors[: self.size].mean(axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, for a checkpoint; `restore` reads them back."""
        filled = {name: getattr(self, name)[: self.size] for name in FIELDS}
        return {**filled, "centre": self.centre, "clock": np.array([self.clock])}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore what `arrays` returned. Raises ValueError for more entries than the capacity, or
        other features."""
        loaded = {name: arrays[name] for name in (*FIELDS, "centre", "clock")}  # reads the disk
        size, features = loaded["vectors"].shape
        if size > self.capacity or features != self.vectors.shape[1]:
            raise ValueError(
                f"{size} entries of {features} features do not fit a memory "
                f"of {self.capacity} entries of {self.vectors.shape[1]}"
            )
        for name in FIELDS:
            getattr(self, name)[:size] = loaded[name]
        self.centre[:] = loaded["centre"]
        self.size, self.clock = size, int(loaded["clock"][0])
