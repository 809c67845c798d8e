"""Thousands of bad messages, disconnects at every point, and SIGKILL of the server."""

import json
import multiprocessing
import os
import random
import signal
import socket

import numpy as np
import pytest

from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.contest.wire.protocol import ClientDisconnectError, GymRemoteError
from tests.contest.conftest import serve_toy
from tests.contest.raw import playing

RESET = b'{"type": "update", "content": {"reset": true}}\f'
STEP = b'{"type": "update", "content": {"ac": 5}}\f'
CLOSE = b'{"type": "close", "content": {"reason": null}}\f'
SPAWN = multiprocessing.get_context("spawn")


def mutate(rng, message):
    """A message changed in one to four places, or nonsense; still ended by a form feed."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(60)).replace(b"\f", b"") + b"\f"
    data = bytearray(message[:-1])
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(3)
        if kind == 0:
            del data[place : place + rng.randint(1, 9)]
        elif kind == 1:
            data[place:place] = rng.choice([b"NaN", b"[", b'"', b"-", b"9" * 30, b"{}", b"\xff"])
        elif place < len(data):
            data[place] = rng.randrange(256)
    return bytes(data).replace(b"\f", b"") + b"\f"


@pytest.mark.parametrize("seed", range(25))
def test_every_bad_message_is_answered_and_every_step_recorded(start, seed):
    rng = random.Random(seed)
    server = start(timesteps=10**6)
    with playing(server) as client:
        steps = episodes = 0
        for _ in range(4):
            batch = [mutate(rng, rng.choice([STEP, RESET, CLOSE])) for _ in range(30)]
            batch = [data for data in batch if b'"close"' not in data]
            # A changed message may still be a good one: whatever is answered with a reward that
            # is not the plain 0 of a reset was a step.
            client.send(b"".join(batch))
            answers = [client.read() for _ in batch]
            answers.append(client.ask(STEP[:-1]))
            if answers[-1]["type"] == "exception":  # the episode had ended
                answers.append(client.ask(RESET[:-1]))
            assert {answer["type"] for answer in answers} <= {"update", "exception"}
            updates = [answer["content"] for answer in answers if answer["type"] == "update"]
            steps += sum(content["reward"] != 0.0 for content in updates)
            episodes += sum(content["done"] for content in updates)
        client.send(mutate(rng, STEP)[: rng.randrange(9)])
    assert isinstance(server.ended(), ClientDisconnectError | GymRemoteError)
    assert sum(length for _, length in server.rows()) == steps
    assert sum(length == 5 for _, length in server.rows()) == episodes
    assert server.result()["steps"] == steps


@pytest.mark.parametrize("cut", range(0, 2 * len(STEP) + 1, 3))
def test_disconnect_at_any_byte_ends_the_run_with_its_records(start, cut):
    server = start()
    with playing(server) as client:
        client.send((STEP + STEP)[:cut])
        if cut % 2:
            client.sock.shutdown(socket.SHUT_RD)
    assert isinstance(server.ended(), ClientDisconnectError)
    played = cut // len(STEP)
    steps = sum(length for _, length in server.rows())
    assert min(played, 1) <= steps <= played, "the first one is played whoever reads its answer"
    assert server.result()["ended"].startswith("ClientDisconnectError")


@pytest.mark.parametrize("seed", range(3))
def test_killed_server_leaves_every_ended_episode(tmp_path, toy, seed):
    folder, results = tmp_path / "shared", tmp_path / "results"
    server = SPAWN.Process(target=serve_toy, args=(toy(length=3), folder, results))
    server.start()
    env = RemoteEnv(folder)
    ended: list[float] = []
    killed = random.Random(seed).randrange(20, 200)
    with pytest.raises(GymRemoteError, match="gone"):
        while True:
            env.reset()
            total, done = 0.0, False
            while not done:
                _, reward, done, _, info = env.step(np.ones(12, np.int8))
                total += reward
                if info["steps"] == killed:
                    os.kill(server.pid or 0, signal.SIGKILL)
            ended.append(total)
    server.join()
    lines = (results / "monitor.csv").read_text().splitlines()[1:]
    recorded = [float(line.split(",")[0]) for line in lines]
    assert recorded[: len(ended)] == pytest.approx(ended)
    assert len(recorded) - len(ended) in (0, 1)
    result = json.loads((results / "result.json").read_text())
    assert result["episodes"] >= len(ended)
    assert result["ended"] is None
