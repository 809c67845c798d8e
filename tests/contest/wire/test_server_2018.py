"""The server against a client that behaves as that of 2018."""

from typing import Any

import numpy as np
import pytest

from tests.contest.raw import Raw


class Client2018:
    """What the contest's own client did, as far as the server can tell.

    Channels stay dirty, and are sent with every message, until the server has sent them.
    """

    NAMES = ("GymRemote", "Timestep", "WallClock", "ClientDisconnect", "ServerDisconnect", "Reset")

    def __init__(self, server):
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

    def exchange(self, name, value):
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

    def reset(self):
        self.exchange("reset", True)
        return self.ob

    def step(self, action):
        coefficients = np.cumprod([1, *self.folds[:-1]])
        self.exchange("ac", int(np.dot(coefficients, action % np.array(self.folds))))
        return self.ob, float(self.values["reward"]), bool(self.values["done"]), {}


@pytest.fixture
def old(start):
    clients = []

    def make(**limits):
        server = start(**limits)
        clients.append(Client2018(server))
        return clients[-1], server

    yield make
    for client in clients:
        client.raw.sock.close()


def test_client_of_2018_plays_as_if_locally(old, toy):
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


def test_the_action_after_a_refused_reset_is_played(old):
    """This client repeats the reset with it, and with all later ones until one is answered."""
    client, _ = old()
    client.reset()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Reset"):
            client.reset()
    shown = [client.step(np.zeros(12, np.int8))[0][0, 0, 0] for _ in range(2)]
    assert shown == [1, 2]
