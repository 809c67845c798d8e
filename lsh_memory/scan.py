"""Nearest neighbours by passing over short codes of all entries, ever fewer, ever more exactly.

1. Two words of each code, in planes of their own, are compared with the query's: a few hundred
   thousand bits per microsecond where the processor counts bits in vectors.
2. The about `wanted` entries whose 128 bits differ least are compared by their whole codes.
3. The `kept` best of those are ranked by their exact cosine.

Nothing is built or moved: an entry is in as soon as its code is written.
"""

import math
from typing import Any, final

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from lsh_memory.hashing import Codes, Floats, SignHash, sign_code
from lsh_memory.storage import Slots, Storage, none_found

BLOCK, PART = 256, 32  # entries looked at together; a block is compared whole, searched by parts
SAMPLES = 4096  # entries that tell how far the `wanted` nearest reach
COARSE = 128  # bits of the first pass


@final
class ScanIndex:
    """See the module's text. Keeps 64 + 16 bytes per entry beside the storage's vectors.

    Not for use by several threads at once: it holds scratch memory.
    """

    def __init__(self, storage: Storage, *, candidates: int, seed: int, bits: int = 512) -> None:
        self.storage, self.wanted = storage, candidates
        self.hash = SignHash(storage.vectors.shape[1], bits=bits, seed=seed)
        room = -(-storage.capacity // BLOCK) * BLOCK
        self.planes = np.zeros((2, room), np.uint64)
        self.codes = np.zeros((room, bits // 64), np.uint64)
        self.found = np.empty(room + PART, np.int32)

    def insert(self, slot: int) -> None:
        """Take up a slot that was just written, in place of what it held before."""
        self.codes[slot] = self.hash.code(self.storage.vectors[slot])
        self.planes[:, slot] = self.codes[slot, :2]

    def remove(self, slot: int) -> None:
        """Nothing to do: `insert` writes over the slot's code."""

    def nearest(self, units: Floats, k: int) -> tuple[Slots, Floats]:
        """See `backends.Index`."""
        slots, cosines = none_found(len(units), k)
        kept = max(self.wanted // 8, 3 * k)
        _nearest(
            (self.storage.vectors, self.planes, self.codes, self.hash.signs, self.found),
            self.storage.size,
            units,
            max(self.wanted, 8 * k),
            kept,
            slots,
            cosines,
        )
        return slots, cosines

    def similar(self, unit: Floats, least: float) -> tuple[Slots, Floats]:
        """See `backends.Index`. A slot is missed only where its code differs from the query's by
        four standard deviations more than it should."""
        limits = [differing_bits(least, bits) for bits in (COARSE, self.hash.bits)]
        count = _similar(
            (self.storage.vectors, self.planes, self.codes, self.hash.signs, self.found),
            self.storage.size,
            unit,
            limits[0],
            limits[1],
        )
        slots = self.found[:count].astype(np.int64)
        cosines = self.storage.vectors[slots] @ unit
        return slots[cosines >= least], cosines[cosines >= least]


def differing_bits(cosine: float, bits: int) -> int:
    """The most bits in which codes of two vectors with that cosine differ, but for rare cases."""
    share = math.acos(min(1.0, max(-1.0, cosine))) / math.pi
    return int(share * bits + 4.0 * math.sqrt(share * (1.0 - share) * bits) + 1.0)


def _count_bits(context: Any, word: Any) -> Any:
    """Bits set in a uint64: the processor's own instruction, which Numba has no name for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_popcount: Any = intrinsic(_count_bits)


@njit(cache=True, nogil=True)
def _nearest(
    memory: tuple[Any, ...],
    size: int,
    units: Floats,
    wanted: int,
    kept: int,
    slots: Slots,
    cosines: Floats,
) -> None:
    vectors, planes, codes, signs, found = memory
    code = np.empty(codes.shape[1], np.uint64)
    k = min(slots.shape[1], size)
    for row in range(len(units)):
        sign_code(units[row], signs, code)
        limit = _reach(planes, size, code, wanted)
        count = _pass(planes, size, code, limit, found)
        while count < k:  # the sample was unlucky
            limit += 8
            count = _pass(planes, size, code, limit, found)
        count = _narrow(codes, code, found, count, kept)
        _rank(vectors, found[:count], units[row], slots[row], cosines[row])


@njit(cache=True, nogil=True)
def _similar(memory: tuple[Any, ...], size: int, unit: Floats, coarse: int, fine: int) -> int:
    _, planes, codes, signs, found = memory
    code = np.empty(codes.shape[1], np.uint64)
    sign_code(unit, signs, code)
    count = 0
    for i in range(_pass(planes, size, code, coarse, found)):
        if _difference(codes[found[i]], code) <= fine:
            found[count] = found[i]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _reach(planes: Codes, size: int, code: Codes, wanted: int) -> int:
    """The number of differing bits within which about `wanted` entries lie, from a sample."""
    stride = max(1, size // SAMPLES)
    differences = np.zeros(COARSE + 1, np.int64)
    for slot in range(0, size, stride):
        bits = _popcount(planes[0, slot] ^ code[0]) + _popcount(planes[1, slot] ^ code[1])
        differences[bits] += 1
    limit, within = 0, differences[0]
    while limit < COARSE and within * stride < min(wanted, size):
        limit += 1
        within += differences[limit]
    return limit


@njit(cache=True, nogil=True)
def _pass(planes: Codes, size: int, code: Codes, limit: int, found: NDArray[np.int32]) -> int:
    """Write the slots whose first 128 bits differ in at most `limit` -> how many they are."""
    differing = np.empty(BLOCK, np.uint8)
    one, two, count = code[0], code[1], 0
    for start in range(0, size, BLOCK):
        first, second = planes[0, start : start + BLOCK], planes[1, start : start + BLOCK]
        least = np.uint8(255)
        for i in range(BLOCK):
            differing[i] = _popcount(first[i] ^ one) + _popcount(second[i] ^ two)
        for i in range(BLOCK):
            least = min(least, differing[i])
        if least > limit:
            continue
        for begin in range(0, BLOCK, PART):
            part = differing[begin : begin + PART]
            least = np.uint8(255)
            for i in range(PART):
                least = min(least, part[i])
            if least <= limit:
                for i in range(PART):  # without a branch: the count goes on where one is near
                    found[count] = start + begin + i
                    count += part[i] <= limit
    while count and found[count - 1] >= size:  # the last block has slots not in use yet
        count -= 1
    return count


@njit(cache=True, nogil=True)
def _difference(one: Codes, other: Codes) -> int:
    bits = 0
    for word in range(len(one)):
        bits += _popcount(one[word] ^ other[word])
    return bits


@njit(cache=True, nogil=True)
def _narrow(codes: Codes, code: Codes, found: NDArray[np.int32], count: int, kept: int) -> int:
    """Keep the `kept` of the first `count` found slots whose whole codes differ least."""
    if count <= kept:
        return count
    bits = np.empty(count, np.int32)
    differences = np.zeros(64 * codes.shape[1] + 1, np.int64)
    for i in range(count):
        bits[i] = _difference(codes[found[i]], code)
        differences[bits[i]] += 1
    limit, below = 0, 0
    while below + differences[limit] < kept:
        below += differences[limit]
        limit += 1
    ties = kept - below
    left = 0
    for i in range(count):
        tie = bits[i] == limit and ties > 0
        ties -= tie
        if bits[i] < limit or tie:
            found[left] = found[i]
            left += 1
    return left


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _rank(
    vectors: Floats, found: NDArray[np.int32], unit: Floats, slots: Slots, cosines: Floats
) -> None:
    """Write the best of the found slots and their cosines, best first."""
    last = len(slots) - 1
    for slot in found:
        vector = vectors[slot]
        cosine = np.float32(0.0)
        for i in range(len(unit)):
            cosine += vector[i] * unit[i]
        if cosine > cosines[last]:
            place = last
            while place > 0 and cosines[place - 1] < cosine:
                slots[place], cosines[place] = slots[place - 1], cosines[place - 1]
                place -= 1
            slots[place], cosines[place] = slot, cosine
