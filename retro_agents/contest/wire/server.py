"""The environment's side of the contest: plays one level for one client, within limits."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import socket
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from retro_agents.contest.wire import protocol
from retro_agents.contest.wire.connection import Connection, Gone, Late, TooLong, time_left
from retro_agents.contest.wire.limits import Limits
from retro_agents.contest.wire.protocol import (
    GymRemoteError,
    Malformed,
    ResetError,
    WallClockTimeoutError,
)
from retro_agents.contest.wire.record import Record
from retro_agents.contest.wire.socket_folder import accept

LINGER_SECONDS = 2.0
"""How long a client may take to read why its run is over."""
PATIENCE = 100
"""Bad requests in a row after which the client is disconnected."""


def serve(session: Session) -> GymRemoteError:
    """Play with the first client until the run ends -> the reason. Raises the environment's errors,
    after telling the client."""
    ended: GymRemoteError | None = None
    with contextlib.closing(session):
        try:
            ended = session.run()
            session.finish(f"{type(ended).__name__}: {ended}")
        except BaseException as error:
            with contextlib.suppress(OSError):
                session.finish(f"server stopped: {type(error).__name__}")
            stopped = protocol.ServerDisconnectError("the environment's side has stopped")
            session.farewell(ended or stopped)
            raise
        session.farewell(ended)
    return ended


class Session:
    """One run: accepts a client, answers its requests, enforces the limits."""

    def __init__(
        self,
        env: gymnasium.Env,
        folder: Path,
        *,
        limits: Limits,
        record: Record | None,
        seed: int,
        connect: float = math.inf,
    ) -> None:
        """env: the contest's (MultiBinary buttons, uint8 screens). folder: a `meeting_place`.
        record: what writes the run down, if anything does. seed: of the first reset. connect:
        seconds in which a client must come, if they are fewer than `limits.stall`."""
        assert isinstance(env.action_space, gymnasium.spaces.MultiBinary), env.action_space
        assert env.observation_space.shape is not None
        self.env = env
        self.buttons = int(np.prod(env.action_space.shape))
        self.shape = env.observation_space.shape
        self.folder = folder
        self.limits, self.connect = limits, connect
        self.record = record
        self.seed = seed
        self.end = time.monotonic() + limits.wall_clock
        self.connection: Connection | None = None
        self.steps = 0
        self.started = False
        self.playing = False  # from a reset to its episode's end
        self.reset_refused = False
        self.refusals = 0
        self.actions: dict[int, np.ndarray] = {}
        (folder / protocol.SCREEN).unlink(missing_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        self.screen = os.open(folder / protocol.SCREEN, flags, 0o600)
        os.posix_fallocate(self.screen, 0, int(np.prod(self.shape)))

    def run(self) -> GymRemoteError:
        """Play until the run is over -> why. A client that leaves before its first reset does not
        count.

        Raises OSError, and whatever the environment raises.
        """
        waiting = min(self.end, time.monotonic() + min(self.limits.stall, self.connect))
        while True:
            try:
                self.connection = Connection(
                    accept(self.folder / protocol.SOCKET, deadline=waiting)
                )
            except (Late, TimeoutError):
                return WallClockTimeoutError("no client came and began to play")
            self.refusals = 0
            ended = self.play(self.connection)
            if self.started or isinstance(ended, TimeoutError):
                return ended
            self.farewell(ended)

    def play(self, connection: Connection) -> GymRemoteError:
        """Answer a client's requests -> why the run ended."""
        try:
            description = protocol.describe(buttons=self.buttons, shape=self.shape)
            connection.send("description", description, deadline=self.deadline())
            while True:
                self.answer(connection)
        except GymRemoteError as error:
            return error
        except Gone:
            return protocol.ClientDisconnectError("the client has gone")
        except TooLong as error:
            return GymRemoteError(f"the client sent {error}")
        except Late:
            if time.monotonic() < self.end:
                return WallClockTimeoutError(f"the client did nothing for {self.limits.stall:g} s")
            return self.time_is_over()

    def deadline(self) -> float:
        """The time by which the client must act."""
        return min(self.end, time.monotonic() + self.limits.stall)

    def answer_deadline(self) -> float:
        """The time by which the client must have read an answer to what it played in time."""
        return max(self.deadline(), time.monotonic() + LINGER_SECONDS)

    def time_is_over(self) -> WallClockTimeoutError:
        """The error that ends a run at its wall-clock limit."""
        return WallClockTimeoutError(f"all {self.limits.wall_clock:g} s are used up")

    def answer(self, connection: Connection) -> None:
        """Answer one request. Raises GymRemoteError if the run is over, and Connection's errors."""
        message = connection.receive(deadline=self.deadline())
        if time.monotonic() >= self.end:
            raise self.time_is_over()
        try:
            content, ends = self.reply(message)
        except (ResetError, Malformed) as error:  # nothing has changed; the client may continue
            self.refusals += 1
            if self.refusals >= PATIENCE:
                raise GymRemoteError(f"{PATIENCE} bad requests in a row: {error}") from None
            connection.send("exception", protocol.trouble(error), deadline=self.answer_deadline())
            return
        self.refusals = 0
        connection.send("update", content, deadline=self.answer_deadline(), **ends)
        if self.steps >= self.limits.timesteps:
            raise protocol.TimestepTimeoutError(f"all {self.limits.timesteps} timesteps are played")

    def reply(self, message: bytes) -> tuple[dict[str, Any], dict[str, bool]]:
        """A request -> content of its answer, and the extension for clients that ask for it.

        Raises Malformed or ResetError, which change nothing, or ClientDisconnectError.
        """
        envelope: protocol.Envelope = protocol.decode(message, protocol.Envelope)
        if envelope.type == "close":
            raise protocol.ClientDisconnectError("the client closed")
        if envelope.type != "update":
            raise Malformed(f"a client sends update or close, not {envelope.type[:40]!r}")
        request: protocol.Request = protocol.decode(envelope.content, protocol.Request)
        # The 2018 client repeats an unanswered reset with every later action: after a refused
        # reset, reset and action together mean the action.
        repeated = self.playing and self.reset_refused and request.ac is not None
        if request.reset and not repeated:
            reward, terminated, truncated = self.reset()
        else:
            reward, terminated, truncated = self.step(request.ac)
        self.reset_refused = False
        done = terminated or truncated
        content = {"ob": True, "reward": reward, "done": done, "reset": False}
        ends = {"terminated": terminated, "truncated": truncated}
        return content, ends if envelope.wants_ends else {}

    def reset(self) -> tuple[float, bool, bool]:
        """Begin an episode. Raises ResetError in mid-episode."""
        if self.playing:
            self.reset_refused = True
            raise ResetError("reset in mid-episode: step until done")
        screen, _ = self.env.reset(seed=None if self.started else self.seed)
        self.started = self.playing = True
        if self.record is not None:
            self.record.reset()
        self.show(screen)
        return 0.0, False, False

    def step(self, number: int | None) -> tuple[float, bool, bool]:
        """Play one step: (reward, terminated, truncated). Raises Malformed or ResetError."""
        if number is None:
            raise Malformed("an update needs 'ac' or 'reset'")
        if not 0 <= number < 1 << self.buttons:
            raise Malformed(f"'ac' must be 0 to {(1 << self.buttons) - 1}, not {str(number)[:40]}")
        if not self.playing:
            raise ResetError("step without an episode: reset first")
        if number not in self.actions:
            self.actions[number] = protocol.unfold(number, self.buttons)
        screen, reward, terminated, truncated, _ = self.env.step(self.actions[number])
        self.show(screen)
        self.playing = not (terminated or truncated)
        self.steps += 1
        if self.record is not None:
            self.record.step(float(reward), terminated=bool(terminated), truncated=bool(truncated))
        return float(reward), bool(terminated), bool(truncated)

    def show(self, screen: np.ndarray) -> None:
        """Write the screen to the shared file.

        The file is not mapped: a client that truncates it must not kill this process.
        """
        assert screen.shape == self.shape and screen.dtype == np.uint8, screen.shape
        if os.pwrite(self.screen, np.ascontiguousarray(screen).data, 0) < screen.nbytes:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} for a whole screen")

    def finish(self, ended: str) -> None:
        """Write down that the run has ended, and why. Raises OSError."""
        if self.record is not None:
            self.record.finish(ended)

    def farewell(self, error: GymRemoteError) -> None:
        """Tell the client why the run is over, and wait briefly until it has read that."""
        if self.connection is None:
            return
        sock = self.connection.sock
        deadline = time.monotonic() + LINGER_SECONDS
        # Unread bytes at the close would reset the client's connection before it reads the reason.
        with contextlib.suppress(OSError, Gone, Late):
            self.connection.send("close", protocol.trouble(error), deadline=deadline)
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(time_left(deadline))
            while sock.recv(1 << 16):
                sock.settimeout(time_left(deadline))
        sock.close()
        self.connection = None

    def close(self) -> None:
        """Close the screen's file."""
        os.close(self.screen)
