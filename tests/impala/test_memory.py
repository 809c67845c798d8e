from dataclasses import fields

import numpy as np

from impala.memory import OF_STEPS, Memory, Sequences, joined
from tests.impala.made import sequences


def assert_equal(one, other):
    for field in fields(Sequences):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), err_msg=field.name
        )


def memory(*, sequences=4, remembered=0, proportion=1.0):
    rng = np.random.default_rng(0)
    return Memory(sequences=sequences, remembered=remembered, proportion=proportion, rng=rng)


def test_what_is_put_side_by_side_comes_apart_again():
    parts = [sequences(n, state=2, version=n, seed=n) for n in (3, 1, 2)]
    assert all(len(part.cut_at) for part in parts)
    together = joined(parts)
    assert together.count == 6
    for part, (begin, end) in zip(parts, ((0, 3), (3, 4), (4, 6)), strict=True):
        assert_equal(together.columns(slice(begin, end)), part)


def test_blocks_of_any_size_become_batches_in_order():
    kept, made = memory(), [sequences(n, seed=n) for n in (3, 3, 1, 6)]
    found = [[batch for batch, _ in kept.batches(block)] for block in made]
    assert [len(batches) for batches in found] == [0, 1, 0, 2]
    batches = [batch for part in found for batch in part]
    assert all(batch.count == 4 for batch in batches)
    found, expected = joined([*batches, *kept.waiting]), joined(made)
    for n in range(13):
        assert_equal(found.columns(slice(n, n + 1)), expected.columns(slice(n, n + 1)))


def test_remembered_batches_come_beside_new_ones_as_often_as_asked():
    kept = memory(remembered=2, proportion=1.5)
    new, old = [], []
    for seed in range(9):
        for batch, is_new in kept.batches(sequences(4, seed=seed)):
            if is_new:
                new.append(batch)
            else:
                # One of the last two before the newest.
                assert any(batch is one for one in new[-3:-1])
                old.append(batch)
    assert len(new) == 9 and len(old) == 13  # 1.5 of 9; what a first batch is owed comes later
    assert len({id(batch) for batch in old}) > 2


def test_a_remembered_batch_holds_no_more_memory_than_its_own():
    kept = memory(remembered=8)
    list(kept.batches(sequences(13, seed=0)))
    batches = [*kept.remembered, *kept.waiting]
    assert len(batches) == 4
    assert all(getattr(one, name).base is None for one in batches for name in OF_STEPS)
    saved = kept.arrays()["memory-obs"]  # nor does a checkpoint hold it twice
    assert all(np.shares_memory(a, b.obs) for a, b in zip(saved, batches, strict=True))
