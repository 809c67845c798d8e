import numpy as np
import pytest

from lsh_memory.kernels import hadamard
from lsh_memory.scan import SignHash

ORIGIN = np.zeros(1_000, np.float32)


def differing(one, other):
    return int(np.bitwise_count(one ^ other).sum())


def test_transform_is_the_hadamard_matrix():
    matrix = np.ones((1, 1))
    while len(matrix) < 16:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    x = np.random.default_rng(0).normal(size=16).astype(np.float32)
    turned = x.copy()
    hadamard(turned)
    np.testing.assert_allclose(turned, matrix @ x, rtol=1e-5)


def test_code_is_the_signs_of_the_turned_vector():
    hash_ = SignHash(100, bits=64, seed=3)
    x, centre = np.random.default_rng(0).normal(size=(2, 100)).astype(np.float32)
    turned = np.zeros(128, np.float32)
    turned[:100] = x - centre
    for signs in hash_.signs:
        turned *= signs
        hadamard(turned)
    bits = np.unpackbits(hash_.code(x, centre).view(np.uint8), bitorder="little")
    np.testing.assert_array_equal(bits, turned[:64] > 0)


@pytest.mark.parametrize("angle", [0.05, 0.5, 1.2])
@pytest.mark.parametrize("zeros", [0.0, 0.9])  # a layer of ReLUs gives many
def test_codes_differ_in_the_share_of_the_angle(angle, zeros):
    rng = np.random.default_rng(0)
    shares = []
    for seed in range(40):
        one, away = rng.normal(size=(2, 576)) * (rng.random((2, 576)) >= zeros)
        one /= np.linalg.norm(one)
        away -= (away @ one) * one
        other = np.cos(angle) * one + np.sin(angle) * away / np.linalg.norm(away)
        hash_ = SignHash(576, bits=512, seed=seed)
        codes = [hash_.code(x.astype(np.float32), ORIGIN[:576]) for x in (one, other)]
        shares.append(differing(*codes) / 512)
    assert np.mean(shares) == pytest.approx(angle / np.pi, abs=0.01)


def test_length_does_not_change_a_code_and_the_seed_does():
    x = np.random.default_rng(0).normal(size=50).astype(np.float32)
    code = SignHash(50, bits=128, seed=1).code(x, ORIGIN[:50])
    np.testing.assert_array_equal(SignHash(50, bits=128, seed=1).code(4 * x, ORIGIN[:50]), code)
    assert differing(SignHash(50, bits=128, seed=2).code(x, ORIGIN[:50]), code) > 32
