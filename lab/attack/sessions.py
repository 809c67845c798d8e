"""Attacks on the contest's server, by clients that send what they like."""

import contextlib
import json
import random
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from lab.attack.hostile import changed, harmed
from retro_agents.contest.wire.limits import Limits

STEPS, STALL, CLOCK = 8, 0.3, 5.0
"""Limits of a session: steps, and seconds of silence and in all."""


def message(rng: random.Random) -> bytes:
    """A message of the protocol, or nearly one."""
    asked: Any = {"type": "update", "content": {"ac": rng.randrange(4096)}}
    if rng.random() < 0.3:
        asked = {"type": "update", "content": {"reset": True}}
    if rng.random() < 0.3:
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            return json.dumps(changed(rng, asked)).encode() + b"\f"
    data = json.dumps(asked).encode() + b"\f"
    return harmed(rng, data) if rng.random() < 0.2 else data


def session(rng: random.Random, folder: Path) -> str:
    """A client resets, plays and sends nonsense: the server ends within its limits, and what was
    played is stored."""
    conftest = "tests.contest.conftest"
    level = resolve_name(f"{conftest}:ToyEnv")(length=rng.choice([1, 3, 9]), cut=rng.choice([0, 2]))
    limits = Limits(timesteps=STEPS, wall_clock=CLOCK, stall=STALL)
    server = resolve_name(f"{conftest}:Running")(level, folder, limits)
    with contextlib.suppress(OSError, AssertionError):
        client = resolve_name("tests.contest.raw:Raw")(server.socket())
        client.sock.settimeout(CLOCK)
        with contextlib.closing(client.sock):
            client.send(json.dumps({"type": "update", "content": {"reset": True}}).encode() + b"\f")
            for _ in range(rng.randrange(1, 2 * STEPS)):
                client.send(message(rng))
                if rng.random() < 0.5:
                    client.sock.recv(rng.choice([1, 100, 1 << 20]))
    server.thread.join(2 * CLOCK)
    if server.thread.is_alive():
        return "the server did not end"
    if server.error is not None:
        return f"{type(server.error).__name__}: {server.error}"
    result = server.result()
    played = sum(length for _, length in server.rows())
    if played != result["steps"] or played > STEPS:
        return f"{played} steps in the table, {result['steps']} in the result"
    return ""
