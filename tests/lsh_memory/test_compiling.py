"""Searches until the kernels are compiled: in NumPy, with the same results to the last bit."""

import threading
from concurrent.futures import Future
from unittest.mock import Mock

import numba
import numpy as np
import pytest

from lsh_memory import EpisodicMemory, MemoryConfig, compiling, kernels, plain
from lsh_memory.storage import CENTRED_AT
from tests.lsh_memory.test_scan import filled

FEATURES = [1, 7, 32, 100]


def units(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("features", FEATURES)
def test_codes_are_the_same(features):
    vectors = np.random.default_rng(0).normal(size=(20, features)).astype(np.float32)
    signs = plain.random_signs(features, bits=512, seed=1)
    for x in vectors:
        codes = np.zeros((2, 8), np.uint64)
        turned = [
            module.sign_code(x, vectors[0], signs, code)
            for code, module in zip(codes, (kernels, plain), strict=True)
        ]
        np.testing.assert_array_equal(*codes)
        np.testing.assert_array_equal(*turned)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(
    ("size", "wanted", "kept", "k"),
    [(1, 9, 9, 3), (256, 40, 9, 20), (257, 40, 1, 20), (300, 300, 200, 20), (9_000, 500, 62, 10)],
)
def test_searches_find_the_same_with_the_same_cosines(features, size, wanted, kept, k):
    rng = np.random.default_rng(features)
    vectors = rng.normal(size=(size, features)).astype(np.float32)
    vectors[: size // 3] = vectors[-1]  # many are equal
    storage, index = filled(vectors, candidates=100)
    queries = units(rng.normal(size=(5, features)))
    queries[0] = storage.vectors[-1]
    codes = np.zeros((5, 8), np.uint64)
    for query, code in zip(queries, codes, strict=True):
        kernels.sign_code(query, storage.centre, index.signs, code)
    found = []
    for module in (kernels, plain):
        slots, cosines = np.full((5, k), -1, np.int64), np.full((5, k), -np.inf, np.float32)
        module.nearest(index.memory, size, queries, wanted, kept, slots, cosines)
        similar = [
            index.found[: module.similar(index.memory, size, code, *limits)].copy()
            for code in codes
            for limits in ((0, 0), (40, 170), (128, 512))
        ]
        found.append((slots, cosines, np.concatenate(similar)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_memory_is_the_same_whichever_searches(walk, monkeypatch):
    made, steps = [], walk(CENTRED_AT + 200, 16) + 0.01
    for module in (kernels, plain):
        future = Future()
        future.set_result(module)
        monkeypatch.setattr(compiling, "started", lambda future=future: future)
        memory = EpisodicMemory(MemoryConfig(16, 3, capacity=CENTRED_AT + 100))
        memory.add_batch(steps, np.arange(len(steps)) % 3, np.arange(float(len(steps))))
        values = memory.action_values_batch(steps[::9]).values
        made.append({**memory.arrays(), "values": values})
    for name, array in made[0].items():
        np.testing.assert_array_equal(array, made[1][name])


def test_nobody_waits_for_the_compiler(monkeypatch):
    going_on = threading.Event()
    monkeypatch.setattr(compiling, "compiled", going_on.wait)
    began = compiling.started.__wrapped__()
    monkeypatch.setattr(compiling, "started", lambda: began)
    assert compiling.kernels() is plain
    going_on.set()


def test_numpy_searches_where_compiling_is_disabled(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert compiling.compiled() is plain


def test_an_error_of_the_compiler_is_everybodys(monkeypatch):
    monkeypatch.setattr(compiling, "compiled", Mock(side_effect=OSError("no room")))
    broken = compiling.started.__wrapped__()
    monkeypatch.setattr(compiling, "started", lambda: broken)
    compiling.wait()
    with pytest.raises(OSError, match="no room"):
        EpisodicMemory(MemoryConfig(16, 3)).query(np.ones(16))
