"""Nearest neighbours by the LSH tables of datasketch.

datasketch keeps anything that has `hashvalues` and a length. Here each band of sign bits is one
value, and an entry is compared if it shares all bits of a band with the query. datasketch's
threshold, which is of sets, has no meaning here and is not used.
"""

from typing import final

import numpy as np
from numpy.typing import NDArray

from lsh_memory.plain import Floats, Slots, random_signs, sign_code
from lsh_memory.storage import Storage

BANDS, BAND_BITS = 32, 14
WORDS = BANDS * BAND_BITS // 64


@final
class TableIndex:
    """See the module's text. Needs datasketch. Not thread-safe; the memory has a lock."""

    def __init__(self, storage: Storage, *, seed: int) -> None:
        from datasketch import MinHashLSH  # of an extra

        self.storage = storage
        self.signs = random_signs(storage.vectors.shape[1], bits=64 * WORDS, seed=seed)
        self.tables = MinHashLSH(num_perm=BANDS, params=(BANDS, 1))

    def insert(self, slot: int) -> None:
        """Update the entry of a slot that was just written."""
        if slot in self.tables:
            self.tables.remove(slot)
        self.tables.insert(slot, Bands(self.bands(self.storage.vectors[slot])))

    def nearest(self, units: Floats, k: int) -> tuple[Slots, Floats]:
        """Units [B,F] -> slots [B,k], cosines [B,k], best first; -1 and -inf for missing ones."""
        slots = np.full((len(units), k), -1, np.int64)
        cosines = np.full((len(units), k), -np.inf, np.float32)
        for row, unit in enumerate(units):
            found, near = self.candidates(unit)
            best = np.argsort(-near, kind="stable")[:k]
            slots[row, : len(best)], cosines[row, : len(best)] = found[best], near[best]
        return slots, cosines

    def similar(self, unit: Floats, least: float) -> tuple[Slots, Floats]:
        """Slots whose cosine with unit [F] is at least `least`, and the cosines, in any order; most
        of them."""
        slots, cosines = self.candidates(unit)
        return slots[cosines >= least], cosines[cosines >= least]

    def candidates(self, unit: Floats) -> tuple[Slots, Floats]:
        """The slots that share a band with unit [F], in rising order, and their cosines."""
        found = self.tables.query(Bands(self.bands(unit)))
        slots = np.array(sorted(found), np.int64)
        return slots, self.storage.vectors[slots] @ unit

    def bands(self, unit: Floats) -> NDArray[np.int64]:
        """The bands of unit [F] as numbers, [BANDS]."""
        code = np.empty(WORDS, np.uint64)
        sign_code(unit, self.storage.centre, self.signs, code)
        bits = np.unpackbits(code.view(np.uint8), bitorder="little").reshape(BANDS, BAND_BITS)
        return bits @ (1 << np.arange(BAND_BITS))


@final
class Bands:
    """What datasketch asks of a MinHash."""

    def __init__(self, hashvalues: NDArray[np.int64]) -> None:
        self.hashvalues = hashvalues

    def __len__(self) -> int:
        return len(self.hashvalues)
