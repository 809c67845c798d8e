"""datasketch's LSH tables as the memory's index."""

from functools import partial

import numpy as np
import pytest

from lsh_memory import EpisodicMemory, MemoryConfig
from lsh_memory.tables import TableIndex
from tests.lsh_memory import test_scan

pytest.importorskip("datasketch")
filled = partial(test_scan.filled, kind=TableIndex)


def test_an_entry_is_compared_if_any_band_agrees(walk):
    storage, index = filled(walk(300))
    bands = np.array([index.bands(vector) for vector in storage.vectors])
    for slot in range(0, 300, 30):
        want = np.flatnonzero((bands == bands[slot]).any(axis=1))
        found, cosines = index.similar(storage.vectors[slot], -2.0)  # all that are compared
        np.testing.assert_array_equal(found, want)
        np.testing.assert_allclose(cosines, storage.vectors[want] @ storage.vectors[slot])
        assert 1 <= len(want) < 300


def test_neighbours_come_best_first_and_missing_ones_are_marked(walk):
    storage, index = filled(walk(300))
    slots, cosines = index.nearest(storage.vectors[::30], 10)
    assert slots[:, 0].tolist() == list(range(0, 300, 30))
    assert (cosines[:, :-1] >= cosines[:, 1:]).all()
    assert ((slots < 0) == (cosines == -np.inf)).all()


def test_nearly_all_that_is_near_is_found(walk):
    storage, index = filled(walk(2_000))
    found = want = 0
    for vector in storage.vectors[::25]:
        want += np.count_nonzero(storage.vectors @ vector >= 0.98)
        found += len(index.similar(vector, 0.98)[0])
    assert want > 200 and found >= 0.99 * want


def test_a_slot_written_over_is_found_as_what_it_is_now(walk):
    storage, index = filled(walk(50))
    old = storage.vectors[7].copy()
    storage.write(7, -old, action=0, return_to_go=0.0)
    index.insert(7)
    assert index.nearest(-old[None], 1)[0][0, 0] == 7 and 7 not in index.similar(old, 0.99)[0]


def test_a_memory_by_tables_keeps_and_finds_as_by_scan(walk, tmp_path):
    config = MemoryConfig(16, 3, capacity=1_100, merge_above=0.999, backend="tables")
    memory, steps = EpisodicMemory(config), walk(1_300, 16) + 0.01
    memory.add_batch(steps, np.arange(1_300) % 3, np.arange(1_300.0))
    assert memory.storage.centre.any() and memory.evicted > 0
    memory.save(tmp_path)
    again = EpisodicMemory.load(tmp_path)
    near = [one.query(steps[-1], 1) for one in (memory, again)]
    assert near[0].cosines[0] > 0.9999 and near[0].slots == near[1].slots
