import msgspec
import numpy as np
import pytest

from jerk.memory import Sequences


def actions(*values):
    return np.array(values, np.uint8)


def filled(capacity=10):
    sequences = Sequences(capacity)
    for value in (5.0, 9.0, 7.0):
        sequences.add("one", actions(1, int(value)), value, pause=1)
    return sequences


def test_the_best_sequence_has_the_highest_mean_return():
    sequences = filled()
    assert sequences.best("one").returns == [9.0]
    sequences.best("one").returns.append(3.0)  # a replay that failed: the mean falls to 6
    assert sequences.best("one").returns == [7.0]
    assert sequences.best("another level") is None


def test_a_sequence_found_again_is_not_stored_twice():
    sequences = filled()
    sequences.add("one", actions(1, 5), 6.0, pause=3)
    assert len(sequences) == 3
    assert sequences.levels["one"][0].returns == [5.0, 6.0]
    sequences.add("two", actions(1, 5), 6.0, pause=3)
    assert len(sequences) == 4


def test_a_full_level_forgets_its_worst_sequence():
    sequences = filled(capacity=3)
    assert sequences.add("one", actions(3), 4.0, pause=1) is None
    assert sequences.add("one", actions(4), 6.0, pause=1) is not None
    assert sorted(s.mean for s in sequences.levels["one"]) == [6.0, 7.0, 9.0]


def test_an_empty_sequence_is_refused():
    with pytest.raises(AssertionError):
        filled().add("one", actions(), 1.0, pause=0)


def test_stored_actions_do_not_change_with_the_callers():
    sequences, mine = Sequences(3), actions(1, 2)
    sequences.add("one", mine, 1.0, pause=1)
    mine[0] = 6
    assert sequences.best("one").actions.tolist() == [1, 2]


def test_changes_count_where_the_action_differs_from_the_one_before():
    sequences = Sequences(3)
    assert sequences.add("one", actions(1, 1, 6, 6, 1), 1.0, pause=1).changes == 2
    assert sequences.add("one", actions(4), 1.0, pause=1).changes == 0


def test_saved_sequences_come_back_through_msgpack():
    sequences = filled(capacity=3)
    sequences.starts["one"] = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    sequences.add("one", actions(4), 6.0, pause=1)
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(sequences.save()))
    other = Sequences(3)
    other.restore(saved)
    assert other.save() == sequences.save()
    assert other.add("one", actions(6), 8.0, pause=1).number == 4
    np.testing.assert_array_equal(other.starts["one"], sequences.starts["one"])


def test_json_has_the_best_sequences_first():
    table = filled().as_json(most=2)["one"]
    assert [row["returns"] for row in table] == [[9.0], [7.0]]
    assert table[0]["actions"] == [1, 9]
