"""Our client against our server, a server of 2018, and servers that break the rules."""

import json
import os
import socket
import threading
from typing import Any

import numpy as np
import pytest

from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.contest.wire.protocol import (
    GymRemoteError,
    ResetError,
    ServerDisconnectError,
    TimestepTimeoutError,
    describe,
)

NO_BUTTON = np.zeros(12, np.int8)


@pytest.mark.parametrize(("length", "cut"), [(3, 0), (0, 3), (3, 3)])
def test_terminated_and_truncated_stay_apart(start, toy, length, cut):
    env = RemoteEnv(start(toy(length=length, cut=cut)).folder)
    env.reset()
    ends = [env.step(NO_BUTTON)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (length == 3, cut == 3)]
    env.close()


def test_observations_are_copies_and_infos_tell_the_score(start):
    env = RemoteEnv(start().folder)
    first, info = env.reset()
    kept = first.copy()
    assert info == {"level": "remote", "score": 0.0, "episodes": 1, "steps": 0}
    rewards = []
    for _ in range(5):
        _, reward, *_, info = env.step(NO_BUTTON)
        rewards.append(reward)
    assert np.array_equal(first, kept)
    assert info["score"] == pytest.approx(sum(rewards))
    assert env.reset()[1]["score"] == pytest.approx(sum(rewards) / 2)
    env.close()


def test_reset_in_mid_episode_is_an_error_that_leaves_the_game_playable(start):
    env = RemoteEnv(start().folder)
    with pytest.raises(ResetError):
        env.step(NO_BUTTON)
    env.reset()
    for _ in range(2):
        with pytest.raises(ResetError):
            env.reset()
    assert [env.step(NO_BUTTON)[0][0, 0, 0] for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(ResetError):
        env.step(NO_BUTTON)
    env.reset()
    env.close()


def test_buttons_of_another_shape_are_refused(start):
    env = RemoteEnv(start().folder)
    env.reset()
    with pytest.raises(ValueError, match="12 buttons"):
        env.step(np.zeros(8, np.int8))
    env.close()


def test_missing_or_silent_server_is_given_up(tmp_path):
    with pytest.raises(ServerDisconnectError, match="no server has come"):
        RemoteEnv(tmp_path, connect_seconds=0.1)
    server = Script(tmp_path, GREETING, b" ", b"")
    with pytest.raises(ServerDisconnectError, match="did not answer"):
        RemoteEnv(tmp_path, reply_seconds=0.2).reset()
    server.thread.join(0.1)


def test_second_client_hears_that_the_server_is_taken(start):
    server = start()
    env = RemoteEnv(server.folder)
    env.reset()
    with pytest.raises(ServerDisconnectError, match="takes no client"):
        RemoteEnv(server.folder)
    env.step(NO_BUTTON)
    env.close()


class Script:
    """A server that sends `greeting`, then one of `answers` to each request, then leaves."""

    def __init__(self, folder, greeting, *answers):
        (folder / "ob").write_bytes(os.urandom(6 * 8 * 3))
        self.requests: list[Any] = []
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(folder / "sock"))
        listener.listen(1)

        def work():
            with listener, listener.accept()[0] as sock:
                sock.settimeout(30)
                sock.sendall(greeting)
                for answer in answers:
                    request = sock.recv(4096)
                    if not request:
                        return
                    self.requests.append(json.loads(request.rstrip(b"\f")))
                    sock.sendall(answer)

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()


def message(kind, content):
    return json.dumps({"type": kind, "content": content}).encode() + b"\f"


def update(reward=0.0, done=False):
    return message("update", {"ob": True, "reward": reward, "done": done, "reset": False})


GREETING = message("description", describe(buttons=12, shape=(6, 8, 3)))


def test_server_of_2018_is_played_with(tmp_path, monkeypatch):
    monkeypatch.setattr("retro_agents.contest.wire.protocol.EPISODE_STEPS", 3)
    answers = [update(), update(1.5), update(2.5), update(3.5, True), update(), update(1, True)]
    closing = message("close", {"reason": None, "exception": 1})
    server = Script(tmp_path, GREETING, *answers[:-1], answers[-1] + closing)
    env = RemoteEnv(tmp_path)
    assert np.array_equal(env.reset()[0].tobytes(), (tmp_path / "ob").read_bytes())
    outcomes = [env.step(np.ones(12, np.int8))[1:4] for _ in range(3)]
    assert outcomes == [(1.5, False, False), (2.5, False, False), (3.5, False, True)]
    env.reset()
    assert env.step(NO_BUTTON)[1:4] == (1.0, True, False)
    with pytest.raises(TimestepTimeoutError):
        env.reset()
    server.thread.join(30)
    contents = [request["content"] for request in server.requests]
    assert contents == [{"reset": True}] + [{"ac": 4095}] * 3 + [{"reset": True}, {"ac": 0}]


@pytest.mark.parametrize(
    "greeting",
    [
        b"",
        b"garbage\f",
        b"half",
        b"x" * 10_000,
        update(),
        message("description", {}),
        message("description", {"ac": ["int_fold", "exit()", {}]}),
        message("close", {"reason": "full", "exception": 4}),
    ],
)
def test_greeting_that_breaks_the_rules_is_an_error(tmp_path, greeting):
    server = Script(tmp_path, greeting)
    with pytest.raises(GymRemoteError):
        RemoteEnv(tmp_path)
    server.thread.join(30)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\f",
        b'{"type": "update", "content": {"reward": NaN, "done": false}}\f',
        b'{"type": "update", "content": {"reward": 1e999, "done": false}}\f',
        b'{"type": "update", "content": {"done": false}}\f',
        message("exec", "exit()"),
        b"x" * 10_000,
    ],
)
def test_answer_that_breaks_the_rules_ends_the_run(tmp_path, answer):
    server = Script(tmp_path, GREETING, answer)
    env = RemoteEnv(tmp_path)
    with pytest.raises(GymRemoteError):
        env.reset()
    server.thread.join(30)


def test_screen_that_was_cut_short_is_an_error(tmp_path):
    server = Script(tmp_path, GREETING, update())
    env = RemoteEnv(tmp_path)
    os.truncate(tmp_path / "ob", 5)
    with pytest.raises(ServerDisconnectError, match="screen"):
        env.reset()
    server.thread.join(30)
