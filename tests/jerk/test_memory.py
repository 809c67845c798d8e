import msgspec
import numpy as np

from jerk.memory import BestRuns, SequenceMemory
from jerk.slots import Slot, Variant
from retro_agents.experience.episodes import Episode
from retro_agents.games.retro.config import SEVEN


def actions(*values):
    return np.array(values, np.uint8)


def filled(capacity=10):
    sequences = SequenceMemory(capacity)
    for value in (5.0, 9.0, 7.0):
        sequences.add("one", actions(1, int(value)), value)
    return sequences


def test_the_best_sequence_has_the_highest_mean_return():
    sequences = filled()
    assert sequences.best("one").returns == [9.0]
    sequences.best("one").add_return(3.0, latest=0)  # a replay that failed: the mean falls to 6
    assert sequences.best("one").returns == [7.0]
    assert sequences.best("another level") is None


def test_a_sequence_found_again_is_not_stored_twice():
    sequences = filled()
    sequences.add("one", actions(1, 5), 6.0)
    assert len(sequences) == 3
    assert sequences.levels["one"][0].returns == [5.0, 6.0]
    sequences.add("two", actions(1, 5), 6.0)
    assert len(sequences) == 4


def test_a_full_level_forgets_its_worst_sequence():
    sequences = filled(capacity=3)
    assert sequences.add("one", actions(3), 4.0) is None
    assert sequences.add("one", actions(4), 6.0) is not None
    assert sorted(s.mean for s in sequences.levels["one"]) == [6.0, 7.0, 9.0]


def test_of_equally_bad_sequences_a_full_level_forgets_the_newest():
    sequences = SequenceMemory(2)
    first, second = (sequences.add("one", actions(number), 5.0) for number in (1, 2))
    assert sequences.add("one", actions(3), 5.0) is None
    assert sequences.levels["one"] == [first, second]  # by identity
    better = sequences.add("one", actions(4), 9.0)
    assert sequences.levels["one"] == [first, better]


def test_a_stored_sequence_does_not_change_with_the_callers():
    sequences, mine = SequenceMemory(3), actions(1, 2)
    sequences.add("one", mine, 1.0)
    mine[0] = 6
    assert sequences.best("one").actions.tolist() == [1, 2]


def test_saved_sequences_come_back_through_msgpack():
    sequences = filled(capacity=3)
    sequences.starts["one"] = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    rewards = np.array([6.0], np.float32)
    sequences.add("one", actions(4), 6.0, rewards=rewards)
    slots = [Slot(0, 24, [Variant(), Variant({3: 6}, 2, 1)]), Slot(30, 40, [Variant()])]
    sequences.best("one").slots += slots
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(sequences.save()))
    other = SequenceMemory(3)
    other.restore(saved)
    assert other.save() == sequences.save() and other.best("one").slots == slots
    np.testing.assert_array_equal(other.levels["one"][-1].rewards, rewards)
    assert other.add("one", actions(6), 8.0).number == 4
    np.testing.assert_array_equal(other.starts["one"], sequences.starts["one"])


def test_json_has_the_best_sequences_first():
    table = filled().as_json(most=2)["one"]
    assert [row["returns"] for row in table] == [[9.0], [7.0]]
    assert table[0]["actions"] == [1, 9]


def run_of(value, *, level="one"):
    return Episode(level, actions(1), np.array([value]), False, SEVEN, 4)


def test_runs_keep_the_best_of_each_level():
    runs = BestRuns(2)
    for run in (run_of(5.0), run_of(10.0), run_of(3.0, level="two")):
        runs.add(run)
    assert not runs.wants("one", 4.0) and runs.wants("one", 6.0) and runs.wants("two", 1.0)
    runs.add(run_of(7.0))
    assert [run.total_reward for run in runs.levels["one"]] == [10.0, 7.0] and len(runs) == 3
    assert [run.total_reward for run in runs.all()] == [10.0, 7.0, 3.0]


def test_a_smaller_memory_keeps_the_best_of_a_larger_one():
    large, small = SequenceMemory(5), SequenceMemory(2)
    for value in (3.0, 1.0, 5.0, 4.0, 2.0):
        large.add("a", np.array([int(value)], np.uint8), value)
    small.restore(large.save())
    assert [one.mean for one in small.levels["a"]] == [5.0, 4.0]
    assert small.add("a", np.array([6], np.uint8), 0.5) is None and len(small) == 2
