import itertools
import socket

import pytest

from retro_agents.contest.wire import waiting as spin_wait
from retro_agents.contest.wire.waiting import LONGEST_SECONDS, RESTS, SHORT_SECONDS, SpinWait


@pytest.fixture
def pair():
    mine, other = socket.socketpair()
    with mine, other:
        yield mine, other


@pytest.fixture
def waiting(monkeypatch):
    """On two cores; between two looks at the clock no time passes."""
    monkeypatch.setattr(spin_wait, "free_cores", lambda: 2)
    monkeypatch.setattr(spin_wait.time, "perf_counter", lambda: 0.0)
    return SpinWait()


def test_what_is_there_is_taken_without_sleep_unless_the_core_is_shared(waiting, pair, monkeypatch):
    mine, other = pair
    other.send(b"abc")
    monkeypatch.setattr(spin_wait, "free_cores", lambda: 1)
    assert SpinWait().spin(mine, 9) is None
    assert waiting.spin(mine, 2) == b"ab"
    other.close()
    assert waiting.spin(mine, 2) == b"c"
    assert waiting.spin(mine, 2) == b"", "the other side has left"


def test_where_nothing_comes_it_gives_up(waiting, pair, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(spin_wait.time, "perf_counter", lambda: next(clock) * 1e-5)
    waiting.average = 1e-4
    assert waiting.spin(pair[0], 9) is None
    assert 25 < next(clock) < 40, "about twice the average wait"
    assert waiting.rest == 0, "nobody wanted the core"


def test_long_waits_are_slept_through_until_they_are_short_again(waiting, pair):
    mine, other = pair
    other.send(b"abc")
    waiting.waited(3600)
    assert waiting.average < LONGEST_SECONDS, "one alone does not count for much"
    for _ in range(100):
        waiting.waited(2 * SHORT_SECONDS)
    assert waiting.spin(mine, 9) is None
    for _ in range(100):
        waiting.waited(SHORT_SECONDS / 2)
    assert waiting.spin(mine, 9) == b"abc"


def test_who_shares_the_core_rests_longer_each_time(waiting, pair, monkeypatch):
    mine, other = pair
    clock = itertools.count()
    waiting.average = SHORT_SECONDS
    for expected in (16, 32, 64, 128, 256, 512, 1024, 1024):
        monkeypatch.setattr(spin_wait.time, "perf_counter", lambda: next(clock) * 1.0)
        assert waiting.spin(mine, 9) is None
        assert waiting.rest == expected
        other.send(b"x")
        monkeypatch.setattr(spin_wait.time, "perf_counter", lambda: 0.0)
        assert [waiting.spin(mine, 9) for _ in range(expected)] == [None] * expected
        mine.recv(9)
    other.send(b"abc")
    before = waiting.next_rest
    assert waiting.spin(mine, 1) == b"a"
    assert RESTS[0] <= waiting.next_rest < before, "and spins again where nobody disturbed"
