"""The server against raw messages, and against a client that behaves as that of 2018."""

import contextlib
import json
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from contest.server import PATIENCE, Limits
from experiment.errors import UserError

Start = Callable[..., Any]
RESET = {"type": "update", "content": {"reset": True}}


def press(number: Any) -> dict[str, Any]:
    return {"type": "update", "content": {"ac": number}}


class Raw:
    """Messages by hand."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        try:
            self.sock.connect(path)
        except OSError:
            self.sock.close()
            raise
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def read(self) -> Any:
        """The next message; None at the end."""
        while b"\f" not in self.buffer:
            chunk = self.sock.recv(4096)
            if not chunk:
                assert self.buffer == b"", "a half message"
                return None
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\f")
        return json.loads(message)

    def ask(self, message: Any) -> Any:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send(data + b"\f")
        return self.read()


@contextmanager
def raw_of(client: Raw) -> Iterator[Raw]:
    try:
        yield client
    finally:
        client.sock.close()


def raw(server: Any) -> Any:
    return raw_of(Raw(server.socket()))


def patient(server: Any) -> Any:
    """As `raw`, past the description, for a server that is busy with its last visitor's leaving."""
    deadline = time.monotonic() + 30
    while True:
        assert time.monotonic() < deadline
        try:
            client = Raw(server.socket())
        except (ConnectionRefusedError, FileNotFoundError):
            time.sleep(0.005)
            continue
        with contextlib.suppress(ConnectionResetError):
            if client.read() is not None:
                return raw_of(client)
        client.sock.close()


class Client2018:
    """What the contest's own client did, as far as the server can tell.

    Channels stay dirty, and are sent with every message, until the server has sent them.
    """

    NAMES = ("GymRemote", "Timestep", "WallClock", "ClientDisconnect", "ServerDisconnect", "Reset")

    def __init__(self, server: Any) -> None:
        self.raw = Raw(server.socket())
        description = self.raw.read()
        assert description["type"] == "description"
        self.channels = description["content"]
        # eval is what it did with shapes, here on the words of our own server.
        shape, dtype = eval(self.channels["ob"][1], {}, {"dtype": np.dtype})
        (self.folds,) = eval(self.channels["ac"][1], {}, {})
        self.ob = np.memmap(server.folder / "ob", mode="w+", dtype=dtype, shape=shape)
        self.values: dict[str, Any] = {}
        self.dirty: set[str] = set()

    def exchange(self, name: str, value: Any) -> None:
        self.values[name] = value
        self.dirty.add(name)
        content = {name: self.values[name] for name in self.channels if name in self.dirty}
        message = self.raw.ask({"type": "update", "content": content})
        if message["type"] in ("close", "exception"):
            raise RuntimeError(self.NAMES[message["content"]["exception"]])
        assert set(message) == {"type", "content"}
        for key, received in message["content"].items():
            assert key in self.channels
            self.values[key] = received
            self.dirty.discard(key)

    def reset(self) -> np.ndarray:
        self.exchange("reset", True)
        return self.ob

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, dict[str, Any]]:
        coefficients = np.cumprod([1, *self.folds[:-1]])
        self.exchange("ac", int(np.dot(coefficients, action % np.array(self.folds))))
        return self.ob, float(self.values["reward"]), bool(self.values["done"]), {}


@pytest.fixture
def old(start: Start) -> Iterator[Callable[..., Any]]:
    clients = []

    def make(**limits: Any) -> Any:
        server = start(**limits)
        clients.append(Client2018(server))
        return clients[-1], server

    yield make
    for client in clients:
        client.raw.sock.close()


def test_client_of_2018_plays_as_if_locally(old: Callable[..., Any], toy: Any) -> None:
    client, server = old(timesteps=12)
    local, rng = toy(), np.random.default_rng(0)
    returns = []
    for episode in range(3):
        expected, _ = local.reset(seed=7 if episode == 0 else None)
        assert np.array_equal(client.reset(), expected)
        total, done = 0.0, False
        while not done and sum(row[1] for row in returns) + local.steps < 12:
            action = rng.integers(0, 2, 12).astype(np.int8)
            screen, reward, done, info = client.step(action)
            expected, expected_reward, terminated, _, _ = local.step(action)
            assert np.array_equal(screen, expected)
            assert (reward, done, info) == (expected_reward, terminated, {})
            total += reward
        returns.append((total, local.steps))
    with pytest.raises(RuntimeError, match="Timestep"):
        client.step(action)
    client.raw.sock.close()
    server.ended()
    assert [row[1] for row in server.rows()] == [5, 5, 2]  # resets cost no timestep
    assert np.allclose([row[0] for row in server.rows()], [row[0] for row in returns])


def test_client_of_2018_goes_on_after_a_reset_in_mid_episode(old: Callable[..., Any]) -> None:
    client, server = old()
    client.reset()
    with pytest.raises(RuntimeError, match="Reset"):
        client.reset()
    action = np.ones(12, np.int8)
    assert [client.step(action)[0][0, 0, 0] for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="Reset"):
        client.step(action)
    client.reset()
    assert client.step(action)[0][0, 0, 0] == 1
    client.raw.sock.close()
    server.ended()
    assert [row[1] for row in server.rows()] == [5, 1]


def test_description_is_that_of_2018(start: Start) -> None:
    with raw(start()) as client:
        assert client.read() == {
            "type": "description",
            "content": {
                "ac": [
                    "int_fold",
                    "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],",
                    {"n": "12", "type": "MultiBinary"},
                ],
                "ob": ["np", '(6, 8, 3), dtype("|u1")', {"type": "Box", "shape": "(6, 8, 3)"}],
                "reward": ["float", None, {}],
                "done": ["bool", None, {}],
                "reset": ["bool", None, {}],
            },
        }


def test_folder_socket_and_screen_are_for_the_owner_alone(start: Start) -> None:
    server = start()
    with raw(server):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (server.folder, *server.paths())]
        assert modes == [0o700, 0o600, 0o600]
    with patient(server) as client:
        client.ask(RESET)
    server.ended()
    assert list(server.folder.iterdir()) == []


def test_timestep_limit_answers_the_last_step_and_closes(start: Start) -> None:
    server = start(timesteps=3)
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        assert [client.ask(press(i))["type"] for i in range(3)] == ["update"] * 3
        closing = client.read()
        assert (closing["type"], closing["content"]["exception"]) == ("close", 1)
        assert client.read() is None
    server.ended()
    assert server.result()["steps"] == 3
    assert server.result()["ended"].startswith("TimestepTimeoutError")


@pytest.mark.parametrize("limit", ["wall_clock", "stall"])
def test_silent_client_is_sent_away_in_time(start: Start, limit: str) -> None:
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


def test_busy_client_is_sent_away_at_the_wall_clock_limit(start: Start, toy: Any) -> None:
    server = start(toy(length=10**9), wall_clock=1.0, timesteps=10**9)
    with raw(server) as client:
        client.read()
        answer = client.ask(RESET)
        updates = 0
        while answer["type"] == "update":
            updates += 1
            answer = client.ask(press(1))
        assert answer["content"]["exception"] == 2
    server.ended()
    assert sum(row[1] for row in server.rows()) == max(updates - 1, 0)


def test_server_does_not_wait_for_a_client_for_ever(start: Start) -> None:
    server = start(stall=0.1)
    assert "no client" in str(server.ended())
    assert server.result()["mean_return"] is None


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
def test_malformed_message_is_answered_and_changes_nothing(start: Start, data: bytes) -> None:
    server = start()
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        answer = client.ask(data)
        assert (answer["type"], answer["content"]["exception"]) == ("exception", 0)
        assert isinstance(answer["content"]["reason"], str)
        assert [client.ask(press(3))["content"]["done"] for _ in range(5)] == [False] * 4 + [True]
    server.ended()
    assert [row[1] for row in server.rows()] == [5]


def test_oversized_message_ends_the_run(start: Start) -> None:
    server = start()
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        client.ask(press(1))
        client.send(b"x" * 10_000)
        closing = client.read()
        assert (closing["type"], closing["content"]["exception"]) == ("close", 0)
    server.ended()
    assert [row[1] for row in server.rows()] == [1]


def test_client_that_sends_only_nonsense_is_sent_away(start: Start) -> None:
    server = start()
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        client.send(b"\f" * PATIENCE)
        kinds = [client.read()["type"] for _ in range(PATIENCE)]
    assert kinds == ["exception"] * (PATIENCE - 1) + ["close"]
    server.ended()


def test_step_before_reset_is_refused(start: Start) -> None:
    with raw(start()) as client:
        client.read()
        assert client.ask(press(1))["content"]["exception"] == 5
        assert client.ask(RESET)["content"] == {
            "ob": True,
            "reward": 0.0,
            "done": False,
            "reset": False,
        }


def test_second_client_is_refused_and_the_first_plays_on(start: Start) -> None:
    server = start()
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        with pytest.raises(ConnectionRefusedError):
            Raw(server.socket())
        assert client.ask(press(1))["type"] == "update"


def test_visitor_that_never_plays_costs_nothing(start: Start) -> None:
    server = start()
    for data in (b"", b"garbage", b"x" * 10_000, b'{"type": "close", "content": {}}\f'):
        with patient(server) as visitor:
            visitor.send(data)
    with patient(server) as client:
        assert client.ask(RESET)["type"] == "update"


def test_client_that_cuts_the_screen_short_costs_nothing(start: Start) -> None:
    server = start()
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        os.truncate(server.folder / "ob", 0)
        assert client.ask(press(1))["type"] == "update"
        assert (server.folder / "ob").stat().st_size == 6 * 8 * 3


def test_failing_environment_is_reported_and_recorded(start: Start, toy: Any) -> None:
    env = toy()
    server = start(env)
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        client.ask(press(1))
        env.observation_space = None
        env.screen = None
        closing = client.ask(press(1))
        assert (closing["type"], closing["content"]["exception"]) == ("close", 4)
    server.ended()
    assert isinstance(server.error, TypeError)
    assert [row[1] for row in server.rows()] == [1]


@pytest.mark.parametrize("name", ["timesteps", "wall_clock", "stall"])
def test_limit_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=name):
        Limits(**{name: 0})
