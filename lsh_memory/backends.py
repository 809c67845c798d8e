"""Ways of finding neighbours: the fast one, datasketch's tables, and exactly."""

from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from lsh_memory.hashing import SignHash
from lsh_memory.kernels import Floats, Slots
from lsh_memory.scan import ScanIndex
from lsh_memory.storage import Storage, none_found


class Index(Protocol):
    """Finds slots of a storage. Cosines are exact; which slots are looked at need not be."""

    def insert(self, slot: int) -> None:
        """Take up a slot that was just written."""

    def remove(self, slot: int) -> None:
        """Forget a slot that is about to be written over."""

    def nearest(self, units: Floats, k: int) -> tuple[Slots, Floats]:
        """units [B,F] -> slots [B,k], cosines [B,k], best first; -1, -inf where there is none."""

    def similar(self, unit: Floats, least: float) -> tuple[Slots, Floats]:
        """Slots whose cosine with unit [F] is at least `least`, and the cosines, in any order."""


@final
class ExactIndex:
    """Compares with every entry: the oracle of the tests."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def insert(self, slot: int) -> None:
        """Nothing to do."""

    def remove(self, slot: int) -> None:
        """Nothing to do."""

    def nearest(self, units: Floats, k: int) -> tuple[Slots, Floats]:
        """See `Index`."""
        everything = np.arange(self.storage.size)
        slots, cosines = none_found(len(units), k)
        for row, unit in enumerate(units):
            found = self.storage.vectors[: self.storage.size] @ unit
            slots[row], cosines[row] = best(everything, found, k)
        return slots, cosines

    def similar(self, unit: Floats, least: float) -> tuple[Slots, Floats]:
        """See `Index`."""
        cosines = self.storage.vectors[: self.storage.size] @ unit
        slots = np.flatnonzero(cosines >= least)
        return slots, cosines[slots]


@final
class TableIndex:
    """datasketch's LSH tables: an entry is looked at if it shares all bits of a band.

    datasketch indexes anything that has `hashvalues` and a length; here each band of sign bits is
    one value. Its Jaccard threshold has no meaning for those and is not used.
    """

    def __init__(
        self, storage: Storage, *, seed: int, bands: int = 32, bits_per_band: int = 14
    ) -> None:
        from datasketch import MinHashLSH  # for comparison, and not installed with all

        self.storage, self.bands, self.bits_per_band = storage, bands, bits_per_band
        bits = -(-bands * bits_per_band // 64) * 64
        self.hash = SignHash(storage.vectors.shape[1], bits=bits, seed=seed)
        self.tables = MinHashLSH(num_perm=bands, params=(bands, 1))

    def insert(self, slot: int) -> None:
        """See `Index`."""
        self.tables.insert(slot, self._bands(self.storage.vectors[slot]))

    def remove(self, slot: int) -> None:
        """See `Index`."""
        self.tables.remove(slot)

    def nearest(self, units: Floats, k: int) -> tuple[Slots, Floats]:
        """See `Index`."""
        slots, cosines = none_found(len(units), k)
        for row, unit in enumerate(units):
            slots[row], cosines[row] = best(*self._candidates(unit), k)
        return slots, cosines

    def similar(self, unit: Floats, least: float) -> tuple[Slots, Floats]:
        """See `Index`."""
        slots, cosines = self._candidates(unit)
        return slots[cosines >= least], cosines[cosines >= least]

    def _candidates(self, unit: Floats) -> tuple[Slots, Floats]:
        found = self.tables.query(self._bands(unit))
        slots = np.fromiter(found, np.int64, len(found))
        slots.sort()  # in a set's order equal cosines would come in any order
        return slots, self.storage.vectors[slots] @ unit

    def _bands(self, unit: Floats) -> "_Bands":
        code = self.hash.code(unit, self.storage.centre).view(np.uint8)
        bits = np.unpackbits(code, count=self.bands * self.bits_per_band, bitorder="little")
        powers = 1 << np.arange(self.bits_per_band, dtype=np.uint32)
        return _Bands(bits.reshape(self.bands, self.bits_per_band) @ powers)


@final
class _Bands:
    """What datasketch needs of a MinHash."""

    def __init__(self, hashvalues: NDArray[np.uint32]) -> None:
        self.hashvalues = hashvalues

    def __len__(self) -> int:
        return len(self.hashvalues)


def best(slots: Slots, cosines: Floats, k: int) -> tuple[Slots, Floats]:
    """The k best of slots [N] with cosines [N], best first; -1 and -inf where there are fewer."""
    if len(slots) > k:
        nearest = np.argpartition(cosines, len(cosines) - k)[-k:]
        slots, cosines = slots[nearest], cosines[nearest]
    order = np.lexsort((slots, -cosines))
    chosen, found = none_found(1, k)
    chosen[0, : len(order)], found[0, : len(order)] = slots[order], cosines[order]
    return chosen[0], found[0]


def make_index(name: str, storage: Storage, *, candidates: int, seed: int) -> Index:
    """The backend called `name`: scan, tables or exact. candidates: of scan."""
    if name == "scan":
        return ScanIndex(storage, candidates=candidates, seed=seed)
    return TableIndex(storage, seed=seed) if name == "tables" else ExactIndex(storage)
