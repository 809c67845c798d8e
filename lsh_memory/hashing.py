"""Sign projections: the bits of two vectors differ in a share of their angle over π.

x is turned by random signs and Hadamard transforms, H D₂ H D₁ x, which costs n log n instead of the
n² of a random matrix; each bit says on which side of a hyperplane x lies.
Sources: Charikar 2002 (sign projections); Andoni et al., arXiv:1509.02897 (fast rotations).
"""

from typing import final

import numpy as np

from lsh_memory.kernels import WORD, Codes, Floats, sign_code

ROUNDS = 2


@final
class SignHash:
    """float32 [F] -> a code of `bits` bits in uint64 [bits/64]; the same seed, the same bits.

    Directions are those from a centre, which the caller keeps: where all vectors point nearly the
    same way, angles at the origin would tell them apart by few bits.
    """

    def __init__(self, features: int, *, bits: int = 512, seed: int = 0) -> None:
        assert bits % WORD == 0 and bits > 0, bits
        self.features, self.bits = features, bits
        size = 1 << (max(features, bits) - 1).bit_length()
        signs = np.random.default_rng(seed).integers(0, 2, (ROUNDS, size), dtype=np.int8)
        self.signs = (2 * signs - 1).astype(np.float32)

    def code(self, x: Floats, centre: Floats) -> Codes:
        """The code of one vector [F], seen from centre [F]."""
        code = np.empty(self.bits // WORD, np.uint64)
        sign_code(x, centre, self.signs, code)
        return code
