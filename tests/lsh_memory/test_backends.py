import numpy as np
import pytest

from lsh_memory.backends import ExactIndex, TableIndex, best, make_index
from lsh_memory.storage import Storage


def filled(name, vectors):
    storage = Storage(vectors.shape[1], len(vectors))
    index = make_index(name, storage, candidates=2_000, seed=0)
    for vector in vectors / np.linalg.norm(vectors, axis=1, keepdims=True):
        slot = storage.next_slot()
        storage.write(slot, vector, action=0, return_to_go=0.0)
        index.insert(slot)
    return storage, index


@pytest.mark.parametrize("name", ["scan", "tables", "exact"])
def test_neighbours_come_best_first_with_their_exact_cosines(walk, name):
    storage, index = filled(name, walk(1_000))
    queries = storage.vectors[::50]
    slots, cosines = index.nearest(queries, 10)
    for query, row, found in zip(queries, slots, cosines, strict=True):
        there = row[row >= 0]
        assert len(set(there.tolist())) == len(there)
        np.testing.assert_allclose(found[: len(there)], storage.vectors[there] @ query, rtol=1e-5)
        assert (np.diff(found[: len(there)]) <= 0).all() and (found[len(there) :] == -np.inf).all()
    np.testing.assert_array_equal(slots[:, 0], np.arange(0, 1_000, 50))


def test_exact_neighbours_are_those_of_a_full_sort(walk):
    storage, index = filled("exact", walk(300))
    query = walk(1, seed=5)
    slots, _ = index.nearest(query, 300)
    np.testing.assert_array_equal(slots[0], np.argsort(-(storage.vectors @ query[0])))


def test_tables_find_nearly_all_that_is_near(walk):
    storage, index = filled("tables", walk(5_000))
    found = want = 0
    for vector in storage.vectors[::50]:
        near, _ = ExactIndex(storage).similar(vector, 0.98)
        found, want = found + len(index.similar(vector, 0.98)[0]), want + len(near)
    assert want > 300 and found >= 0.99 * want


def test_tables_hold_an_entry_where_any_band_agrees(walk):
    storage, index = filled("tables", walk(400))
    assert isinstance(index, TableIndex)
    codes = np.array([index.hash.code(v, storage.centre).view(np.uint8) for v in storage.vectors])
    bits = np.unpackbits(codes, axis=1, bitorder="little")[:, : 32 * 14].reshape(400, 32, 14)
    for slot in range(0, 400, 40):
        want = np.flatnonzero((bits == bits[slot]).all(axis=2).any(axis=1))
        found, _ = index.similar(storage.vectors[slot], -2.0)  # every one that is looked at
        np.testing.assert_array_equal(found, want)
        assert 1 <= len(want) < 400


@pytest.mark.parametrize("name", ["scan", "tables", "exact"])
def test_slot_written_over_is_found_as_what_it_is_now(walk, name):
    storage, index = filled(name, walk(100))
    old, new = storage.vectors[7].copy(), -storage.vectors[7]
    index.remove(7)
    storage.write(7, new, action=0, return_to_go=0.0)
    index.insert(7)
    assert index.nearest(new[None], 1)[0][0, 0] == 7
    assert 7 not in index.similar(old, 0.99)[0] and 7 in index.similar(new, 0.99)[0]


@pytest.mark.parametrize("name", ["scan", "tables", "exact"])
@pytest.mark.parametrize(("size", "rows", "k"), [(0, 1, 3), (2, 1, 3), (2, 0, 3), (1, 2, 1)])
def test_missing_neighbours_are_marked(name, size, rows, k):
    vectors = np.ones((size, 8), np.float32)
    storage = Storage(8, 4)
    index = make_index(name, storage, candidates=10, seed=0)
    for vector in vectors:
        slot = storage.next_slot()
        storage.write(slot, vector, action=0, return_to_go=0.0)
        index.insert(slot)
    slots, cosines = index.nearest(np.ones((rows, 8), np.float32), k)
    assert slots.shape == cosines.shape == (rows, k)
    assert ((slots >= 0).sum(axis=1) == min(size, k)).all()
    assert ((slots < 0) == (cosines == -np.inf)).all()


def test_best_breaks_ties_by_slot():
    slots, cosines = best(np.array([5, 3, 9]), np.array([0.5, 0.5, 0.7], np.float32), 3)
    assert slots.tolist() == [9, 3, 5] and cosines[0] == np.float32(0.7)
