import numpy as np
import pytest

from es.memory import BLOCK, RECORD, Noise, Plan, draw_levels, stream

MASK = 2**64 - 1


def philox(counter, key):
    """Philox-4x64-10 on Python's integers. Salmon et al. 2011, section 3.3."""
    x, k = list(counter), list(key)
    for _ in range(10):
        high, low = zip(
            *(
                divmod(m * v, 2**64)
                for m, v in ((0xD2E7470EE14C6C93, x[0]), (0xCA5A826395121157, x[2]))
            ),
            strict=True,
        )
        x = [high[1] ^ x[1] ^ k[0], low[1], high[0] ^ x[3] ^ k[1], low[0]]
        k = [(k[0] + 0x9E3779B97F4A7C15) & MASK, (k[1] + 0xBB67AE8584CAA73B) & MASK]
    return x


def test_stream_is_philox_of_run_generation_pair_and_block():
    seed, generation, pair, block = 7, 11, 13, 3
    drawn = stream(seed, generation, pair, block=block).bit_generator.random_raw(12).tolist()
    slow = [word for n in (1, 2, 3) for word in philox([n, 0, block, pair], [seed, generation])]
    assert drawn == slow


def test_noise_is_that_of_its_pairs_streams_block_by_block():
    size = 4 * BLOCK + 40
    noise = Noise(5, size)
    assert noise.blocks == 5
    streams = [stream(5, 2, 9, block=number) for number in range(5)]
    drawn = [rng.standard_normal(BLOCK, np.float32) for rng in streams]
    np.testing.assert_array_equal(noise.whole(2, 9), np.concatenate(drawn)[:size])
    np.testing.assert_array_equal(noise.block(2, 9, 1), drawn[1])


PLAN = Plan(seed=4, generation=6, pairs=3, slots=(2, 5), evaluates=True)


def test_plan_has_every_episode_once_and_a_pair_shares_its_chance():
    tasks = [PLAN.task(number) for number in range(len(PLAN))]
    assert len(set(tasks)) == len(PLAN) == 2 + 3 * 2
    assert [task.member for task in tasks] == [0, 0, 1, 2, 3, 4, 5, 6]
    assert [task.slot for task in tasks] == [0, 1, 0, 0, 1, 1, 0, 0]
    by_seed = {}
    for number in range(len(PLAN)):
        task = PLAN.task(number)
        by_seed.setdefault(PLAN.episode_seed(task), []).append(task)
    assert len(by_seed) == 2 + 3
    for tasks in by_seed.values():
        assert len({(task.pair, task.slot) for task in tasks}) == 1
        assert tasks[0].sign == 0 or {task.sign for task in tasks} == {1, -1}


def test_returns_are_those_of_the_members_with_or_without_evaluation():
    records = np.zeros(len(PLAN), RECORD)
    records["task"] = np.arange(len(PLAN))
    for record in records:
        task = PLAN.task(int(record["task"]))
        record["total"] = 100 * task.slot + 10 * task.pair + task.sign
    returns, current = PLAN.returns(records)
    assert current.tolist() == [-10.0, 90.0]  # of "pair" −1
    assert returns.tolist() == [[1.0, -1.0], [111.0, 109.0], [21.0, 19.0]]
    for missing in (records[:-1], np.r_[records[:-1], records[:1]]):
        with pytest.raises(AssertionError):
            PLAN.returns(missing)
    plan = Plan(4, 6, pairs=3, slots=(2, 5), evaluates=False)
    assert [plan.task(number) for number in range(6)] == [PLAN.task(2 + n) for n in range(6)]
    records = np.zeros(len(plan), RECORD)
    records["task"] = np.arange(6)
    returns, current = plan.returns(records)
    assert returns.shape == (3, 2) and current.shape == (0,)


def test_generations_take_levels_in_turn():
    plans = [Plan(4, g, pairs=5, slots=(1, 3, 8), evaluates=True) for g in range(3)]
    turns = [plan.turns.tolist() for plan in plans]
    assert turns == [[0, 1, 2, 0, 1], [2, 0, 1, 2, 0], [1, 2, 0, 1, 2]]
    for plan, expected in zip(plans, turns, strict=True):
        tasks = [plan.task(number) for number in range(3, len(plan))]
        for sign in (1, -1):
            assert [task.slot for task in tasks if task.sign == sign] == expected
    drawn = [draw_levels(0, generation, levels=9, count=2) for generation in range(60)]
    assert all(len(set(levels)) == 2 for levels in drawn) and len(set(drawn)) > 10
    assert {level for levels in drawn for level in levels} == set(range(9))
    for count in (0, 9):
        assert draw_levels(0, 3, levels=4, count=count) == (0, 1, 2, 3)
