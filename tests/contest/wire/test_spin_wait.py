import itertools
import socket
from collections.abc import Iterator

import pytest

from contest.wire import spin_wait as haste
from contest.wire.spin_wait import LONGEST_SECONDS, RESTS, SHORT_SECONDS, Haste


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    mine, other = socket.socketpair()
    with mine, other:
        yield mine, other


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> Haste:
    """On two cores; between two looks at the clock no time passes."""
    monkeypatch.setattr(haste, "free_cores", lambda: 2)
    monkeypatch.setattr(haste.time, "perf_counter", lambda: 0.0)
    return Haste()


def test_what_is_there_is_taken_without_sleep(
    eager: Haste, pair: tuple[socket.socket, socket.socket]
) -> None:
    mine, other = pair
    other.send(b"abc")
    assert eager.ask(mine, 2) == b"ab"
    other.close()
    assert eager.ask(mine, 2) == b"c"
    assert eager.ask(mine, 2) == b"", "the other side has left"


def test_where_nothing_comes_it_gives_up(
    eager: Haste, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr(haste.time, "perf_counter", lambda: next(clock) * 1e-5)
    eager.average = 1e-4
    assert eager.ask(pair[0], 9) is None
    assert 25 < next(clock) < 40, "about twice the average wait"
    assert eager.rest == 0, "nobody wanted the core"


def test_long_waits_are_slept_through_until_they_are_short_again(
    eager: Haste, pair: tuple[socket.socket, socket.socket]
) -> None:
    mine, other = pair
    other.send(b"abc")
    eager.waited(3600)
    assert eager.average < LONGEST_SECONDS, "one alone does not count for much"
    for _ in range(100):
        eager.waited(2 * SHORT_SECONDS)
    assert eager.ask(mine, 9) is None
    for _ in range(100):
        eager.waited(SHORT_SECONDS / 2)
    assert eager.ask(mine, 9) == b"abc"


def test_a_single_core_is_left_to_the_other_side(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(haste, "free_cores", lambda: 1)
    pair[1].send(b"abc")
    assert Haste().ask(pair[0], 9) is None


def test_who_shares_the_core_rests_longer_each_time(
    eager: Haste, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = pair
    clock = itertools.count()
    eager.average = SHORT_SECONDS
    for expected in (16, 32, 64, 128, 256, 512, 1024, 1024):
        monkeypatch.setattr(haste.time, "perf_counter", lambda: next(clock) * 1.0)
        assert eager.ask(mine, 9) is None
        assert eager.rest == expected
        other.send(b"x")
        monkeypatch.setattr(haste.time, "perf_counter", lambda: 0.0)
        assert [eager.ask(mine, 9) for _ in range(expected)] == [None] * expected
        mine.recv(9)
    other.send(b"abc")
    before = eager.next_rest
    assert eager.ask(mine, 1) == b"a"
    assert RESTS[0] <= eager.next_rest < before, "and hopes again where nobody disturbed"
