import numpy as np
import pytest

from lsh_memory.scan import ScanIndex, differing_bits
from lsh_memory.storage import Storage


def filled(vectors, kind=ScanIndex, **options):
    storage = Storage(vectors.shape[1], len(vectors))
    index = kind(storage, seed=0, **options)
    for vector in vectors / np.linalg.norm(vectors, axis=1, keepdims=True):
        slot = storage.next_slot()
        storage.write(slot, vector, action=0, return_to_go=0.0)
        index.insert(slot)
    return storage, index


def exact(storage, units, k):
    """The oracle: a full sort -> slots [B,k], cosines [B,k]."""
    cosines = units @ storage.vectors[: storage.size].T
    slots = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return slots, np.take_along_axis(cosines, slots, axis=1)


@pytest.mark.parametrize(("size", "rows", "k"), [(0, 1, 3), (2, 1, 3), (2, 0, 3), (1, 2, 1)])
def test_missing_neighbours_are_marked(size, rows, k):
    storage = Storage(8, 4)
    index = ScanIndex(storage, candidates=10, seed=0)
    for slot in range(size):
        storage.write(slot, np.ones(8, np.float32), action=0, return_to_go=0.0)
        index.insert(slot)
    slots, cosines = index.nearest(np.ones((rows, 8), np.float32), k)
    assert slots.shape == cosines.shape == (rows, k)
    assert ((slots >= 0).sum(axis=1) == min(size, k)).all()
    assert ((slots < 0) == (cosines == -np.inf)).all()


def test_scan_finds_nearly_all_true_neighbours(walk):
    storage, index = filled(walk(20_000), candidates=2_000)
    queries = walk(200, seed=1)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    slots, found = index.nearest(queries, 10)
    _, true = exact(storage, queries, 10)
    cosines = np.einsum("bkf,bf->bk", storage.vectors[slots], queries)
    np.testing.assert_allclose(found, cosines, rtol=1e-5)
    assert (np.diff(found) <= 0).all()
    assert (found >= true[:, 9:] - 1e-6).mean() > 0.97
    few = ScanIndex(storage, candidates=80, seed=0)
    for slot in range(storage.size):
        few.insert(slot)
    assert (few.nearest(queries, 10)[1] >= true[:, 9:] - 1e-6).mean() < 0.95  # the knob does turn


def test_neighbours_are_exact_where_all_entries_can_be_compared(walk):
    storage, index = filled(walk(200), candidates=2_000)
    queries = walk(50, seed=1)
    slots, cosines = index.nearest(queries, 20)
    want_slots, want_cosines = exact(storage, queries, 20)
    np.testing.assert_array_equal(slots, want_slots)
    np.testing.assert_allclose(cosines, want_cosines, rtol=1e-5)


def test_many_equal_entries_fill_the_neighbours_and_no_more():
    vectors = np.ones((5_000, 64), np.float32)
    vectors[4_321] = np.arange(64)
    _, index = filled(vectors, candidates=500)
    slots, cosines = index.nearest(vectors[:1] / 8, 40)
    assert len(set(slots[0].tolist())) == 40 and 4_321 not in slots
    np.testing.assert_allclose(cosines, 1.0, rtol=1e-5)
    slots, cosines = index.nearest(vectors[4_321:4_322] / np.linalg.norm(vectors[4_321]), 2)
    assert slots[0, 0] == 4_321 and cosines[0, 1] < 0.9


def test_neighbours_are_filled_where_the_sample_tells_too_little():
    vectors = np.random.default_rng(0).normal(size=(40_000, 64)).astype(np.float32)
    vectors[: 9 * 90 : 9] = vectors[0]  # each ninth is looked at: 90 are taken for 810
    storage, index = filled(vectors, candidates=1)
    slots, cosines = index.nearest(storage.vectors[:1], 100)
    assert (slots >= 0).all() and len(set(slots[0].tolist())) == 100
    assert np.count_nonzero(cosines > 0.999) == 90


@pytest.mark.parametrize("least", [0.95, 0.999])
@pytest.mark.parametrize("centred", [False, True])
def test_similar_misses_next_to_nothing(walk, least, centred):
    storage, index = filled(walk(5_000), candidates=100)
    if centred:
        storage.take_centre()
        for slot in range(storage.size):
            index.insert(slot)
    missed = there = 0
    for vector in storage.vectors[::25]:
        want = np.flatnonzero(storage.vectors @ vector >= least)
        slots, cosines = index.similar(vector, least)
        np.testing.assert_allclose(cosines, storage.vectors[slots] @ vector, rtol=1e-5)
        assert set(slots) <= set(want)
        missed, there = missed + len(want) - len(slots), there + len(want)
    assert there > 200 and missed <= 0.002 * there


def test_bits_that_may_differ_grow_with_the_angle():
    assert differing_bits(0.0, 512) == 1
    assert 256 < differing_bits(np.pi / 2, 512) < 310
    assert differing_bits(0.1, 512) < differing_bits(0.2, 512) < differing_bits(np.pi, 512)
    assert differing_bits(np.pi, 512) >= 512
    assert differing_bits(0.1, 512, 40) == differing_bits(0.1, 512) < differing_bits(0.1, 512, 80)
