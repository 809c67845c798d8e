"""Sign projections: the bits of two vectors differ in a share of their angle over π.

x is turned by random signs and Hadamard transforms, H D₂ H D₁ x, which costs n log n instead of the
n² of a random matrix; each bit says on which side of a hyperplane x lies.
Sources: Charikar 2002 (sign projections); Andoni et al., arXiv:1509.02897 (fast rotations).
"""

from typing import final

import numpy as np
from numba import njit
from numpy.typing import NDArray

WORD = 64  # bits of an integer that holds a code
ROUNDS = 2

Floats = NDArray[np.float32]
Codes = NDArray[np.uint64]


@final
class SignHash:
    """float32 [F] -> a code of `bits` bits in uint64 [bits/64]; the same seed, the same bits."""

    def __init__(self, features: int, *, bits: int = 512, seed: int = 0) -> None:
        assert bits % WORD == 0 and bits > 0, bits
        self.features, self.bits = features, bits
        size = 1 << (max(features, bits) - 1).bit_length()
        signs = np.random.default_rng(seed).integers(0, 2, (ROUNDS, size), dtype=np.int8)
        self.signs = (2 * signs - 1).astype(np.float32)

    def code(self, x: Floats) -> Codes:
        """The code of one vector [F]."""
        code = np.empty(self.bits // WORD, np.uint64)
        sign_code(x, self.signs, code)
        return code


@njit(cache=True, nogil=True)
def sign_code(x: Floats, signs: Floats, code: Codes) -> None:
    """Write the code of x [F]; signs ±1 [rounds,n], n a power of two and at least F."""
    turned = np.zeros(signs.shape[1], np.float32)
    turned[: len(x)] = x
    for row in range(len(signs)):
        turned *= signs[row]
        _hadamard(turned)
    for word in range(len(code)):
        bits = np.uint64(0)
        for bit in range(WORD):
            bits |= np.uint64(turned[WORD * word + bit] > 0.0) << np.uint64(bit)
        code[word] = bits


@njit(cache=True, nogil=True)
def _hadamard(x: Floats) -> None:
    """Multiply x [n] by the Hadamard matrix, in place; n a power of two."""
    half = 1
    while half < len(x):
        for start in range(0, len(x), 2 * half):
            for i in range(start, start + half):
                low, high = x[i], x[i + half]
                x[i], x[i + half] = low + high, low - high
        half *= 2
