"""The agent's side of the contest: a remote level as a Gymnasium environment."""

import contextlib
import math
import os
import socket
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from retro_agents.contest.wire import protocol
from retro_agents.contest.wire.connection import Connection, Gone, Late, TooLong
from retro_agents.contest.wire.protocol import (
    Envelope,
    GymRemoteError,
    Malformed,
    ServerDisconnectError,
)
from retro_agents.games.retro.contest_env import fold

POLL_SECONDS = 0.05


class RemoteEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """The level of the server in `directory`: MultiBinary(12) -> uint8 screen [H, W, 3].

    Speaks to `retro-agents contest serve` and to a server of 2018. Under `make.wrap_agent` an
    agent sees what it would see of a local level. `reset` ignores seeds: the server has its own.
    infos: level; score, the mean return so far, including the running episode; episodes; steps.
    Any call may raise a GymRemoteError; if that ended the run, later calls raise it again.
    """

    def __init__(
        self,
        directory: Path | str = "tmp",
        *,
        level: str = "remote",
        connect_seconds: float = 60.0,
        reply_seconds: float = 600.0,
    ) -> None:
        """level: its name in infos; the protocol does not send it. Raises GymRemoteError."""
        self.level = level
        self.reply_seconds = reply_seconds
        self.ended: GymRemoteError | None = None
        self.screen = -1
        self.playing = False
        self.asked: bytes | None = None
        self.messages: dict[bytes, bytes] = {}
        self.episodes = self.steps = self.episode_steps = 0
        self.total = 0.0
        folder = Path(directory)
        self.connection = Connection(connect(folder / protocol.SOCKET, seconds=connect_seconds))
        envelope = self.receive()
        try:
            if envelope.type != "description":
                raise Malformed(f"it begins with {envelope.type[:40]!r}")
            self.buttons, self.shape = protocol.read_description(envelope.content)
        except Malformed as error:
            raise self.over(GymRemoteError(f"{folder} holds no contest server: {error}")) from None
        try:
            self.screen = os.open(folder / protocol.SCREEN, os.O_RDONLY)
        except OSError as error:
            raise self.over(ServerDisconnectError(f"no screens: {error}")) from None
        self.action_space = gymnasium.spaces.MultiBinary(self.buttons)
        self.observation_space = gymnasium.spaces.Box(0, 255, self.shape, np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode. Raises ResetError in mid-episode, which the contest does not allow."""
        super().reset(seed=seed)
        if self.playing or self.asked is not None:
            raise protocol.ResetError("reset in mid-episode: the contest has none, step until done")
        self.send(protocol.encode("update", {"reset": True}, wants_ends=True))
        self.answer()
        self.playing = True
        self.episodes += 1
        self.episode_steps = 0
        return self.look(), self.infos()

    def begin(self, action: np.ndarray) -> None:
        """Send an action without waiting. The matching `step`, which must follow, waits.

        In between, the server plays while this process does something else.
        """
        if not self.playing and self.ended is None:
            raise protocol.ResetError("step without an episode: reset first")
        if self.asked is not None:
            raise ValueError("call step() with the action that begin() has sent first")
        buttons = np.asarray(action)
        if buttons.shape != (self.buttons,):
            raise ValueError(f"an action is {self.buttons} buttons, not an array {buttons.shape}")
        key = buttons.tobytes()
        message = self.messages.get(key)
        if message is None:
            message = protocol.encode("update", {"ac": fold(buttons)}, wants_ends=True)
            self.messages[key] = message
        self.send(message)
        self.asked = key

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """(screen, reward, terminated, truncated, infos)."""
        if self.asked is None:
            self.begin(action)
        elif self.asked != np.asarray(action).tobytes():
            raise ValueError("step() needs the action that begin() has sent")
        self.asked = None
        envelope, answer = self.answer()
        self.steps += 1
        self.episode_steps += 1
        self.total += answer.reward
        self.playing = not answer.done
        if envelope.truncated is None or envelope.terminated is None:  # a server of 2018
            truncated = answer.done and self.episode_steps >= protocol.EPISODE_STEPS
            terminated = answer.done and not truncated
        else:
            terminated, truncated = envelope.terminated, envelope.truncated
        return self.look(), answer.reward, terminated, truncated, self.infos()

    def infos(self) -> dict[str, Any]:
        """The run so far, as this side knows it."""
        return {
            "level": self.level,
            "score": self.total / self.episodes,
            "episodes": self.episodes,
            "steps": self.steps,
        }

    def send(self, message: bytes) -> None:
        """Send an update. Raises the error that ended the run earlier, if any."""
        if self.ended is not None:
            raise type(self.ended)(str(self.ended))
        # If sending fails, the server's reason may still wait to be read.
        deadline = time.monotonic() + self.reply_seconds
        with contextlib.suppress(Gone, Late):
            self.connection.send_bytes(message, deadline=deadline)

    def answer(self) -> tuple[Envelope, protocol.Answer]:
        """The answer to an update. Raises a GymRemoteError."""
        envelope = self.receive()
        try:
            if envelope.type == "exception":
                raise protocol.read_trouble(envelope.content)
            if envelope.type != "update":
                raise Malformed(f"a server sends no {envelope.type[:40]!r}")
            answer: protocol.Answer = protocol.decode(envelope.content, protocol.Answer)
            if not math.isfinite(answer.reward):
                raise Malformed(f"a reward of {answer.reward}")
            return envelope, answer
        except Malformed as error:
            raise self.over(GymRemoteError(f"the server sent nonsense: {error}")) from None

    def receive(self) -> Envelope:
        """The next message. Raises a GymRemoteError if the run is over."""
        deadline = time.monotonic() + self.reply_seconds
        try:
            envelope: Envelope = protocol.decode(
                self.connection.receive(deadline=deadline), Envelope
            )
        except (Malformed, TooLong) as error:
            raise self.over(GymRemoteError(f"the server sent nonsense: {error}")) from None
        except Gone:
            raise self.over(ServerDisconnectError("the server has gone")) from None
        except Late:
            text = f"the server did not answer for {self.reply_seconds:g} s"
            raise self.over(ServerDisconnectError(text)) from None
        if envelope.type == "close":
            raise self.over(protocol.read_trouble(envelope.content))
        return envelope

    def look(self) -> np.ndarray:
        """A copy of the screen.

        Read, not mapped: a server that cuts the file short must not kill this process.
        """
        screen = np.empty(self.shape, np.uint8)
        if os.preadv(self.screen, [screen.data], 0) != screen.nbytes:
            raise self.over(ServerDisconnectError("the server's screen has gone"))
        return screen

    def over(self, error: GymRemoteError) -> GymRemoteError:
        """End the run: every later call raises the same error -> `error`."""
        self.ended = error
        self.playing = False
        self.connection.sock.close()
        if self.screen >= 0:
            os.close(self.screen)
            self.screen = -1
        return error

    def close(self) -> None:
        """Leave; the server then ends the run."""
        if self.ended is not None:
            return
        with contextlib.suppress(Gone, Late):
            deadline = time.monotonic() + 1.0
            self.connection.send("close", {"reason": None}, deadline=deadline)
        self.over(ServerDisconnectError("this environment was closed"))


def connect(path: Path, *, seconds: float) -> socket.socket:
    """Connect to the server, waiting at most `seconds`. Raises ServerDisconnectError."""
    deadline = time.monotonic() + seconds
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(str(path))
            return sock
        except OSError as error:
            sock.close()
            text = f"the server in {path.parent} takes no client: it has one already or has ended"
            if isinstance(error, FileNotFoundError):
                text = f"no server has come to {path.parent} in {seconds:g} s"
            if not isinstance(error, FileNotFoundError) or time.monotonic() >= deadline:
                raise ServerDisconnectError(f"{text} ({error.strerror or error})") from None
            time.sleep(POLL_SECONDS)
