"""Nearest neighbours by scans of all entries' short codes, each with fewer entries and more exact.

1. Two words of each code, in planes of their own, are compared with the query's: 1.6 MB for
   100,000 entries, read sequentially, many at a time if the processor counts bits in vectors.
2. About `wanted` entries whose 128 bits differ least are compared by their whole codes.
3. The `kept` best of those are ranked by their exact cosine.

There is no index to build: an entry is found as soon as its code is written.

The share of bits in which two codes differ is the vectors' angle over π. x is rotated by random
signs and Hadamard transforms, H D₂ H D₁ x, which costs n log n instead of the n² of a random
matrix; each bit is the side of a hyperplane on which x lies.
Sources: Charikar 2002 (sign projections); Andoni et al., arXiv:1509.02897 (fast rotations).
"""

import math
from typing import final

import numpy as np

from lsh_memory.compiling import kernels
from lsh_memory.plain import COARSE, WORD, Floats, Slots, random_signs
from lsh_memory.storage import BLOCK, PART, Storage

BITS = 512  # of a whole code


@final
class ScanIndex:
    """See the module's text. Besides the storage it needs 84 bytes per entry: 64 for its code, 16
    for a copy of the code's beginning, and 4 of scratch memory.

    Not thread-safe: it holds scratch memory; the memory has a lock.
    """

    def __init__(self, storage: Storage, *, candidates: int, seed: int) -> None:
        self.storage, self.wanted = storage, candidates
        self.signs = random_signs(storage.vectors.shape[1], bits=BITS, seed=seed)
        room = -(-storage.capacity // BLOCK) * BLOCK
        self.planes = np.zeros((2, room), np.uint64)
        self.codes = np.zeros((room, BITS // WORD), np.uint64)
        self.found = np.empty(room + PART, np.int32)
        vectors, centre = storage.vectors, storage.centre
        self.memory = vectors, centre, self.signs, self.planes, self.codes, self.found
        """The kernels' argument `memory`."""

    def insert(self, slot: int) -> None:
        """Update the code of a slot that was just written."""
        storage, code = self.storage, self.codes[slot]
        kernels().sign_code(storage.vectors[slot], storage.centre, self.signs, code)
        self.planes[:, slot] = code[:2]

    def nearest(self, units: Floats, k: int) -> tuple[Slots, Floats]:
        """Units [B,F] -> slots [B,k], cosines [B,k], best first; -1 and -inf for missing ones."""
        slots = np.full((len(units), k), -1, np.int64)
        cosines = np.full((len(units), k), -np.inf, np.float32)
        wanted, kept = max(self.wanted, 8 * k), max(self.wanted // 8, 3 * k)
        kernels().nearest(self.memory, self.storage.size, units, wanted, kept, slots, cosines)
        return slots, cosines

    def similar(self, unit: Floats, least: float) -> tuple[Slots, Floats]:
        """Slots whose cosine with unit [F] is at least `least`, and the cosines, in any order. One
        is missed only if its code differs from the query's by four standard deviations more than
        expected."""
        away = math.sqrt(max(0.0, 2.0 - 2.0 * least))  # the distance at that cosine
        radius = float(np.linalg.norm(unit - self.storage.centre))
        angle = math.asin(away / radius) if away < radius else math.pi
        code = np.empty(BITS // WORD, np.uint64)
        turned = kernels().sign_code(unit, self.storage.centre, self.signs, code)
        near = np.abs(turned[:BITS]) < away * math.sqrt(len(turned))
        coarse, fine = (
            differing_bits(angle, bits, int(np.count_nonzero(near[:bits])))
            for bits in (COARSE, BITS)
        )
        count = kernels().similar(self.memory, self.storage.size, code, coarse, fine)
        slots = self.found[:count].astype(np.int64)
        cosines = self.storage.vectors[slots] @ unit
        return slots[cosines >= least], cosines[cosines >= least]


def differing_bits(angle: float, bits: int, near: int = 0) -> int:
    """The most bits in which the codes of two vectors at that angle differ, except rarely. near:
    how many bits are of numbers so near to 0 that half of them may differ; a sparse vector has more
    of these than the angle tells."""
    share = angle / math.pi
    if near > 3.0 * share * bits:  # of a dense vector about 2.5 times that are so near
        share += 0.5 * near / bits
    return int(share * bits + 4.0 * math.sqrt(share * (1.0 - share) * bits) + 1.0)
