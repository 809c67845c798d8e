"""Survivors over messages that only pretend to be MPI's: nothing here depends on the clock."""

import threading
from collections import defaultdict, deque
from types import SimpleNamespace

import pytest

from es import survivors
from es.survivors import GIVE, UP, Survivors


class Message:
    """looks: how often it is looked for until it is there."""

    def __init__(self, payload, looks=0):
        self.payload, self.looks = payload, looks

    def Irecv(self, buffer):  # noqa: N802  mpi4py's name
        self.buffer = buffer[0]
        return self

    def Test(self):  # noqa: N802
        self.looks -= 1
        if self.looks < 0:
            self.buffer[:] = self.payload
        return self.looks < 0


class Comm:
    """What Survivors use of a communicator. boxes: (receiver, tag) -> (sender, message). looks:
    (sender, tag) -> how often its messages are looked for until they are there."""

    def __init__(self, rank, size, boxes):
        self.rank, self.size, self.boxes = rank, size, boxes
        self.looks = {}

    def Isend(self, buffer, receiver, tag):  # noqa: N802
        self.boxes[receiver, tag].append((self.rank, bytes(buffer[0])))
        return SimpleNamespace(Test=lambda: True)

    def Improbe(self, _, tag, status):  # noqa: N802
        box = self.boxes[self.rank, tag]
        if not box:
            return None
        sender, payload = box.popleft()
        status.Get_count = lambda _: len(payload)
        status.Get_source = lambda: sender
        return Message(payload, self.looks.get((sender, tag), 0))


@pytest.fixture
def worlds(monkeypatch):
    """Three processes of a run."""
    boxes, made = defaultdict(deque), []
    monkeypatch.setattr(survivors, "BEAT", 0.01)
    for rank in range(3):
        mpi = SimpleNamespace(
            COMM_WORLD=Comm(rank, 3, boxes),
            Status=SimpleNamespace,
            ANY_SOURCE=-1,
            BYTE=None,
            Exception=OSError,
        )
        monkeypatch.setattr(survivors, "load_mpi", lambda mpi=mpi: mpi)
        made.append(Survivors())
    yield made
    for world in made:
        world.close()


def side_by_side(*work):
    """Do each in a thread -> what each returned."""
    found = [None] * len(work)

    def do(number):
        found[number] = work[number]()

    threads = [threading.Thread(target=do, args=(n,)) for n in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return found


def round_of(world, payload):
    """Claim until there are no more than 50, then exchange."""

    def work():
        world.open()
        claimed = []
        while (number := world.claim()) < 50:
            claimed.append(number)
        return claimed, world.exchange(payload)

    return work


def test_every_number_is_claimed_once_and_all_get_every_payload(worlds):
    for _ in range(2):
        found = side_by_side(*(round_of(world, b"%d" % world.rank) for world in worlds))
        assert sorted(n for claimed, _ in found for n in claimed) == list(range(50))
        assert [payloads for _, payloads in found] == [[b"0", b"1", b"2"]] * 3


def test_others_go_on_without_a_silent_process(worlds, capsys):
    first, second, dead = worlds

    def dies():
        claimed = [dead.claim() for _ in range(3)]
        dead.over.set()  # no sign of life from here on
        dead.pulse.join()
        return claimed

    def serve():
        while first.next < 3:
            first.progress()

    assert side_by_side(dies, serve)[0] == [0, 1, 2]
    first.progress()  # hears the last of it
    first.heard[2] -= 1e6
    others = side_by_side(round_of(first, b"0"), round_of(second, b"1"))
    assert [payloads for _, payloads in others] == [[b"0", b"1"]] * 2
    assert "process 2 has died" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="the others go on"):
        dead.claim()  # it was asleep only


def test_message_that_comes_slowly_is_awaited(worlds):
    worlds[0].comm.looks = {(1, UP): 5}
    found = side_by_side(*(round_of(world, b"%d" % world.rank) for world in worlds))
    assert [payloads for _, payloads in found] == [[b"0", b"1", b"2"]] * 3


def test_sender_that_dies_over_a_message_holds_up_nobody(worlds, capsys):
    first, second, dead = worlds
    first.comm.looks = {(2, UP): float("inf")}
    dead._send(0, GIVE + b"half of it")
    for world in (dead, first):  # which does not listen either
        world.over.set()
        world.pulse.join()
    first.heard[2] -= 1e6
    found = side_by_side(round_of(first, b"0"), round_of(second, b"1"))
    assert [payloads for _, payloads in found] == [[b"0", b"1"]] * 2
    assert "process 2 has died" in capsys.readouterr().out


def test_all_end_without_the_first_process(worlds):
    first, second, _ = worlds
    first.over.set()
    first.pulse.join()
    second.progress()
    second.heard[0] -= 1e6
    with pytest.raises(RuntimeError, match="first process has died"):
        second.exchange(b"")


def test_an_answer_is_heard_whenever_it_comes(worlds, monkeypatch):
    comes = iter([[], [(0, survivors.CLAIM + (7).to_bytes(8, "little"))]])
    monkeypatch.setattr(worlds[1], "_received", lambda: next(comes))
    assert worlds[1].claim() == 7
