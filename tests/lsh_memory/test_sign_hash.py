import numpy as np
import pytest

from lsh_memory.kernels import hadamard, sign_code
from lsh_memory.scan import random_signs

ORIGIN = np.zeros(1_000, np.float32)


def code_of(x, centre, *, bits, seed):
    code = np.empty(bits // 64, np.uint64)
    sign_code(x, centre, random_signs(len(x), bits=bits, seed=seed), code)
    return code


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
        codes = [
            code_of(x.astype(np.float32), ORIGIN[:576], bits=512, seed=seed) for x in (one, other)
        ]
        shares.append(differing(*codes) / 512)
    assert np.mean(shares) == pytest.approx(angle / np.pi, abs=0.01)


def test_length_does_not_change_a_code_and_the_seed_does():
    x = np.random.default_rng(0).normal(size=50).astype(np.float32)
    code = code_of(x, ORIGIN[:50], bits=128, seed=1)
    np.testing.assert_array_equal(code_of(4 * x, ORIGIN[:50], bits=128, seed=1), code)
    assert differing(code_of(x, ORIGIN[:50], bits=128, seed=2), code) > 32
