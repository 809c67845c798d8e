"""The inner loops, compiled. They are in one file because Numba caches compiled code on the disk,
and recompiles it only when the file of the calling function changes."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from lsh_memory.plain import COARSE, LANES, SAMPLES, WORD, Codes, Floats, Found, Slots
from lsh_memory.storage import BLOCK, PART
from retro_agents.ground.compiled import compiled


def _count_bits(context: Any, word: Any) -> Any:
    """Number of set bits in a uint64, by the processor's instruction, which Numba lacks."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_popcount: Any = intrinsic(_count_bits)


@compiled(nogil=True)
def sign_code(x: Floats, centre: Floats, signs: Floats, code: Codes) -> Floats:
    """Write the code of x [F] relative to centre [F]. signs: ±1 [rounds,n], n a power of two and at
    least F. Returns the numbers [n] whose signs the code holds: x − centre, rotated, times n."""
    turned = np.zeros(signs.shape[1], np.float32)
    turned[: len(x)] = x - centre
    for row in range(len(signs)):
        turned *= signs[row]
        hadamard(turned)
    for word in range(len(code)):
        bits = np.uint64(0)
        for bit in range(WORD):
            bits |= np.uint64(turned[WORD * word + bit] > 0.0) << np.uint64(bit)
        code[word] = bits
    return turned


@compiled(nogil=True)
def hadamard(x: Floats) -> None:
    """Multiply x [n] by the Hadamard matrix, in place; n is a power of two."""
    half = 1
    while half < len(x):
        for start in range(0, len(x), 2 * half):
            for i in range(start, start + half):
                low, high = x[i], x[i + half]
                x[i], x[i + half] = low + high, low - high
        half *= 2


@compiled(nogil=True)
def nearest(
    memory: tuple[Any, ...],
    size: int,
    units: Floats,
    wanted: int,
    kept: int,
    slots: Slots,
    cosines: Floats,
) -> None:
    """Fill slots, cosines [B,k] with the neighbours of units [B,F], best first.

    memory: vectors [capacity,F], centre [F], signs, planes [2,room], codes [room,words], and
    found [room+PART].
    wanted: about the number of entries compared by whole codes; kept: of those compared exactly.
    """
    vectors, centre, signs, planes, codes, found = memory
    code = np.empty(codes.shape[1], np.uint64)
    k = min(slots.shape[1], size)
    for row in range(len(units)):
        sign_code(units[row], centre, signs, code)
        limit = reach(planes, size, code, wanted)
        count = pass_over(planes, size, code, limit, found)
        while count < k:  # the estimate was too low
            limit += 8
            count = pass_over(planes, size, code, limit, found)
        count = narrow(codes, code, found, count, kept)
        rank(vectors, found[:count], units[row], slots[row], cosines[row])


@compiled(nogil=True)
def similar(memory: tuple[Any, ...], size: int, code: Codes, coarse: int, fine: int) -> int:
    """Write to `found` the slots whose first 128 bits differ from those of this code in at most
    `coarse`, and whole codes in at most `fine` bits. Returns their number."""
    planes, codes, found = memory[3:]
    count = 0
    for i in range(pass_over(planes, size, code, coarse, found)):
        if difference(codes[found[i]], code) <= fine:
            found[count] = found[i]
            count += 1
    return count


@compiled(nogil=True)
def reach(planes: Codes, size: int, code: Codes, wanted: int) -> int:
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


@compiled(nogil=True)
def pass_over(planes: Codes, size: int, code: Codes, limit: int, found: Found) -> int:
    """Write the slots whose first 128 bits differ in at most `limit`. Returns their number."""
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
                for i in range(PART):  # without a branch: only near ones raise the count
                    found[count] = start + begin + i
                    count += part[i] <= limit
    while count and found[count - 1] >= size:  # the last block has unused slots
        count -= 1
    return count


@compiled(nogil=True)
def difference(one: Codes, other: Codes) -> int:
    """Number of bits in which two codes differ."""
    bits = 0
    for word in range(len(one)):
        bits += _popcount(one[word] ^ other[word])
    return bits


@compiled(nogil=True)
def narrow(codes: Codes, code: Codes, found: Found, count: int, kept: int) -> int:
    """Keep the `kept` of the first `count` found slots whose whole codes differ least."""
    if count <= kept:
        return count
    bits = np.empty(count, np.int32)
    differences = np.zeros(64 * codes.shape[1] + 1, np.int64)
    for i in range(count):
        bits[i] = difference(codes[found[i]], code)
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


@compiled(nogil=True)
def rank(vectors: Floats, found: Found, unit: Floats, slots: Slots, cosines: Floats) -> None:
    """Write the best of the found slots and their cosines, best first. A cosine is summed in lanes,
    which the processor adds at once, and always in the same order."""
    last, whole = len(slots) - 1, len(unit) // LANES * LANES
    lanes = np.empty(LANES, np.float32)
    for slot in found:
        vector = vectors[slot]
        lanes[:] = 0.0
        for start in range(0, whole, LANES):
            for i in range(LANES):
                lanes[i] += vector[start + i] * unit[start + i]
        for i in range(len(unit) - whole):
            lanes[i] += vector[whole + i] * unit[whole + i]
        cosine = np.float32(0.0)
        for i in range(LANES):
            cosine += lanes[i]
        if cosine > cosines[last]:
            place = last
            while place > 0 and cosines[place - 1] < cosine:
                slots[place], cosines[place] = slots[place - 1], cosines[place - 1]
                place -= 1
            slots[place], cosines[place] = slot, cosine
