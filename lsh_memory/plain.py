"""The functions of `kernels` in NumPy, which search until those are compiled, with results that are
equal to the last bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numba's cache does not see a change of these numbers: change kernels.py, too.
WORD = 64  # bits of a code per integer
COARSE = 128  # bits of the first pass
SAMPLES = 4096  # entries from which the reach of the `wanted` nearest is estimated
LANES = 32  # partial sums of a cosine
ROUNDS = 2

Floats = NDArray[np.float32]
Codes = NDArray[np.uint64]
Slots = NDArray[np.int64]
Found = NDArray[np.int32]


def random_signs(features: int, *, bits: int, seed: int) -> Floats:
    """The signs for codes of `bits` bits, ±1 [ROUNDS,n]; the same seed gives the same bits.

    `sign_code` measures directions from a centre: if all vectors point nearly the same way, angles
    at the origin would distinguish them by few bits.
    """
    assert bits % WORD == 0 and bits > 0, bits
    size = 1 << (max(features, bits) - 1).bit_length()
    signs = np.random.default_rng(seed).integers(0, 2, (ROUNDS, size), dtype=np.int8)
    return (2 * signs - 1).astype(np.float32)


def sign_code(x: Floats, centre: Floats, signs: Floats, code: Codes) -> Floats:
    """See `kernels.sign_code`."""
    turned = np.zeros(signs.shape[1], np.float32)
    turned[: len(x)] = x - centre
    for row in signs:
        turned *= row
        half = 1
        while half < len(turned):
            pairs = turned.reshape(-1, 2, half)
            low, high = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
            pairs[:, 0], pairs[:, 1] = low, high
            half *= 2
    code[:] = np.packbits(turned[: WORD * len(code)] > 0.0, bitorder="little").view(np.uint64)
    return turned


def nearest(
    memory: tuple[Any, ...],
    size: int,
    units: Floats,
    wanted: int,
    kept: int,
    slots: Slots,
    cosines: Floats,
) -> None:
    """See `kernels.nearest`."""
    vectors, centre, signs, planes, codes, _ = memory
    code = np.empty(codes.shape[1], np.uint64)
    k = min(slots.shape[1], size)
    for row, unit in enumerate(units):
        sign_code(unit, centre, signs, code)
        bits = coarse_bits(planes, size, code)
        limit = reach(bits, wanted)
        while np.count_nonzero(bits <= limit) < k:
            limit += 8
        found = narrow(codes, code, np.flatnonzero(bits <= limit), kept)
        near = lane_cosines(vectors[found], unit)
        best = np.argsort(-near, kind="stable")[: slots.shape[1]]
        slots[row, : len(best)], cosines[row, : len(best)] = found[best], near[best]


def similar(memory: tuple[Any, ...], size: int, code: Codes, coarse: int, fine: int) -> int:
    """See `kernels.similar`."""
    planes, codes, found = memory[3:]
    near = np.flatnonzero(coarse_bits(planes, size, code) <= coarse)
    near = near[np.bitwise_count(codes[near] ^ code).sum(axis=1) <= fine]
    found[: len(near)] = near
    return len(near)


def coarse_bits(planes: Codes, size: int, code: Codes) -> NDArray[np.uint8]:
    """Number of the first 128 bits in which each entry differs, [size]."""
    one, two = np.bitwise_count(planes[:, :size] ^ code[:2, None])
    return one + two


def reach(bits: NDArray[np.uint8], wanted: int) -> int:
    """See `kernels.reach`. bits: of `coarse_bits`."""
    stride = max(1, len(bits) // SAMPLES)
    within = stride * np.cumsum(np.bincount(bits[::stride], minlength=COARSE + 1))
    return min(COARSE, int(np.searchsorted(within, min(wanted, len(bits)))))


def narrow(codes: Codes, code: Codes, found: Slots, kept: int) -> Slots:
    """See `kernels.narrow`: the `kept` of the found slots whose whole codes differ least, in their
    order; of equals the first."""
    if len(found) <= kept:
        return found
    bits = np.bitwise_count(codes[found] ^ code).sum(axis=1)
    return found[np.sort(np.argsort(bits, kind="stable")[:kept])]


def lane_cosines(vectors: Floats, unit: Floats) -> Floats:
    """Products of rows [K,F] with unit [F], summed as `kernels.rank` does: first each lane, then
    the lanes, one after the other."""
    features = len(unit)
    steps = -(-features // LANES)
    products = np.zeros((len(vectors), steps * LANES), np.float32)
    products[:, :features] = vectors * unit
    lanes = np.cumsum(products.reshape(-1, steps, LANES), axis=1)[:, -1]
    return np.cumsum(lanes, axis=1)[:, -1]
