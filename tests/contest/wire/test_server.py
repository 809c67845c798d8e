"""The server against raw messages."""

import contextlib
import json
import os
import socket
import stat
import struct
import time

import pytest

from retro_agents.contest.wire.connection import Connection
from retro_agents.contest.wire.limits import Limits
from retro_agents.contest.wire.protocol import WallClockTimeoutError
from retro_agents.contest.wire.record import Record
from retro_agents.contest.wire.server import PATIENCE, Session
from retro_agents.ground.errors import UserError
from tests.contest.raw import RESET, patient, playing, press, raw


def test_description_is_that_of_2018(start):
    with raw(start()) as client:
        buttons = "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],"
        content = {
            "ac": ["int_fold", buttons, {"n": "12", "type": "MultiBinary"}],
            "ob": ["np", '(6, 8, 3), dtype("|u1")', {"type": "Box", "shape": "(6, 8, 3)"}],
            "reward": ["float", None, {}],
            "done": ["bool", None, {}],
            "reset": ["bool", None, {}],
        }
        assert client.read() == {"type": "description", "content": content}


def test_folder_socket_and_screen_are_for_the_owner_alone(start):
    server = start()
    with raw(server):
        modes = [stat.S_IMODE((server.folder / p).stat().st_mode) for p in (".", "sock", "ob")]
        assert modes == [0o700, 0o600, 0o600]
    with patient(server) as client:
        client.ask(RESET)
    server.ended()
    assert list(server.folder.iterdir()) == []


@pytest.mark.parametrize("limit", ["wall_clock", "stall"])
def test_silent_client_is_sent_away_in_time(start, limit):
    server = start(**{limit: 1.0})
    played = 0
    with raw(server) as client:
        client.read()
        answer = client.ask(RESET)
        if answer["type"] == "update":  # a busy machine may need all the time for this
            answer = client.ask(press(1))
        if answer["type"] == "update":
            played = 1
            client.send(b'{"type": "upd')  # half a message buys no time
            answer = client.read()
        assert (answer["type"], answer["content"]["exception"]) == ("close", 2)
    server.ended()
    assert sum(row[1] for row in server.rows()) == played


def test_one_call_waits_a_second_at_most():
    """Where a limit of nothing would mean none."""
    here, there = socket.socketpair()
    with here, there:
        Connection(here).wait_until(time.monotonic() + 100.0, socket.SO_RCVTIMEO)
        limit = here.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.calcsize("ll"))
    assert struct.unpack("ll", limit) == (1, 0)


def test_a_request_that_is_read_after_the_time_is_up_is_not_played(toy, tmp_path):
    limits, record = Limits(), Record(tmp_path / "results", facts={})
    session = Session(toy(), tmp_path, limits=limits, record=record, seed=0)

    class Slow:
        """A connection whose message comes as the time ends."""

        def receive(self, *, deadline):
            session.end = time.monotonic()
            return json.dumps(RESET).encode()

    with contextlib.closing(session), pytest.raises(WallClockTimeoutError):
        session.answer(Slow())
    record.finish("")
    assert not session.started


def test_server_does_not_wait_for_a_client_for_ever_and_a_limit_of_nothing_is_refused(start):
    server = start(stall=0.1)
    assert "no client" in str(server.ended())
    assert server.result()["mean_return"] is None
    for name in ("timesteps", "wall_clock", "stall"):
        with pytest.raises(UserError, match=name):
            Limits(**{name: 0})


def test_oversized_message_or_nothing_but_nonsense_ends_the_run(start):
    server = start()
    with playing(server) as client:
        client.ask(press(1))
        client.send(b"x" * 10_000)
        closing = client.read()
        assert (closing["type"], closing["content"]["exception"]) == ("close", 0)
    server.ended()
    assert [row[1] for row in server.rows()] == [1]
    server = start()
    with playing(server) as client:
        client.send(b"\f" * PATIENCE)
        kinds = [client.read()["type"] for _ in range(PATIENCE)]
    assert kinds == ["exception"] * (PATIENCE - 1) + ["close"]
    server.ended()


def test_visitor_that_never_plays_costs_nothing(start):
    server = start()
    with raw(server) as client:
        client.read()
        client.send(b"\f" * PATIENCE)
        while client.read()["type"] != "close":
            pass
    for data in (b"", b"garbage", b"x" * 10_000, b'{"type": "close", "content": {}}\f'):
        with patient(server) as visitor:
            visitor.send(data)
    with patient(server) as client:
        assert client.ask(b"")["type"] == "exception", "counted afresh"
        assert client.ask(RESET)["type"] == "update"
    server.ended()


def test_client_that_cuts_the_screen_short_costs_nothing(start):
    server = start()
    with playing(server) as client:
        os.truncate(server.folder / "ob", 0)
        assert client.ask(press(1))["type"] == "update"
        assert (server.folder / "ob").stat().st_size == 6 * 8 * 3


def test_a_screen_that_finds_no_room_ends_the_run(start, monkeypatch):
    server = start()
    with playing(server) as client:
        monkeypatch.setattr(os, "pwrite", lambda *_: 100)  # of 144 bytes
        assert client.ask(press(1))["type"] == "close"
    server.ended()
    assert isinstance(server.error, OSError) and "No space left" in str(server.error)


def test_failing_environment_is_reported_and_recorded(start, toy):
    env = toy()
    server = start(env)
    with playing(server) as client:
        client.ask(press(1))
        env.observation_space = None
        env.screen = None
        closing = client.ask(press(1))
        assert (closing["type"], closing["content"]["exception"]) == ("close", 4)
    server.ended()
    assert isinstance(server.error, TypeError)
    assert [row[1] for row in server.rows()] == [1]


MALFORMED = {
    "empty": b"",
    "no JSON": b"\x00\xff\xfe garbage",
    "half a message": b'{"type": "update", "content": {"ac"',
    "deep": b"[" * 4000,
    "a list": b"[]",
    "a number": b"7",
    "no type": b'{"content": {"ac": 1}}',
    "no content": b'{"type": "update"}',
    "unknown type": b'{"type": "description", "content": {}}',
    "type of a list": b'{"type": [], "content": {}}',
    "content of a list": b'{"type": "update", "content": [1]}',
    "neither action nor reset": b'{"type": "update", "content": {}}',
    "NaN": b'{"type": "update", "content": {"ac": NaN}}',
    "infinite": b'{"type": "update", "content": {"ac": 1e999}}',
    "negative": b'{"type": "update", "content": {"ac": -1}}',
    "too large": b'{"type": "update", "content": {"ac": 4096}}',
    "huge": b'{"type": "update", "content": {"ac": ' + b"9" * 4000 + b"}}",
    "fraction": b'{"type": "update", "content": {"ac": 1.5}}',
    "text": b'{"type": "update", "content": {"ac": "__import__(\'os\')"}}',
    "truth": b'{"type": "update", "content": {"ac": true}}',
    "reset of a text": b'{"type": "update", "content": {"reset": "yes"}}',
    "pickle": b"\x80\x04K\x01.",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_message_is_answered_and_changes_nothing(start, data):
    server = start()
    with playing(server) as client:
        answer = client.ask(data)
        assert (answer["type"], answer["content"]["exception"]) == ("exception", 0)
        assert isinstance(answer["content"]["reason"], str)
        assert [client.ask(press(3))["content"]["done"] for _ in range(5)] == [False] * 4 + [True]
    server.ended()
    assert [row[1] for row in server.rows()] == [5]
