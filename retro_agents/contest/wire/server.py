"""The environment's side of the contest: plays one level for one client, within limits."""

import contextlib
import errno
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
"""How long a client whose game is over may take to hear why."""
PATIENCE = 100
"""Refused requests in a row after which the client is sent away."""


def serve(
    env: gymnasium.Env, folder: Path, *, limits: Limits, record: Record, seed: int
) -> GymRemoteError:
    """Play `env` with the client that comes to `folder` until a limit or its end -> which.

    env: the contest's (MultiBinary buttons, uint8 screens). folder: a `meeting_place`.
    seed: of the first reset. Errors: whatever the environment raises, after telling the client.
    """
    session = Session(env, folder, limits=limits, record=record, seed=seed)
    ended: GymRemoteError | None = None
    with contextlib.closing(session):
        try:
            ended = session.run()
            record.finish(f"{type(ended).__name__}: {ended}")
        except BaseException as error:
            with contextlib.suppress(OSError):
                record.finish(f"server stopped: {type(error).__name__}")
            stopped = protocol.ServerDisconnectError("the environment's side has stopped")
            session.farewell(ended or stopped)
            raise
        session.farewell(ended)
    return ended


class Session:
    """One run: accepts a client, answers its requests, keeps the limits."""

    def __init__(
        self, env: gymnasium.Env, folder: Path, *, limits: Limits, record: Record, seed: int
    ) -> None:
        assert isinstance(env.action_space, gymnasium.spaces.MultiBinary), env.action_space
        assert env.observation_space.shape is not None
        self.env = env
        self.buttons = int(np.prod(env.action_space.shape))
        self.shape = env.observation_space.shape
        self.folder = folder
        self.limits = limits
        self.record = record
        self.seed = seed
        self.end = time.monotonic() + limits.wall_clock
        self.connection: Connection | None = None
        self.started = False
        self.playing = False  # between a reset and its episode's end
        self.reset_refused = False
        self.refusals = 0
        self.actions: dict[int, np.ndarray] = {}
        (folder / protocol.SCREEN).unlink(missing_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        self.screen = os.open(folder / protocol.SCREEN, flags, 0o600)
        os.posix_fallocate(self.screen, 0, int(np.prod(self.shape)))

    def run(self) -> GymRemoteError:
        """Play until it is over -> why. A client that leaves before its first reset is forgotten.

        Errors: OSError, and whatever the environment raises.
        """
        waiting = min(self.end, time.monotonic() + self.limits.stall)
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
        """Answer a client's requests -> why that ended."""
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
        """When the client's next move must be there."""
        return min(self.end, time.monotonic() + self.limits.stall)

    def answer_deadline(self) -> float:
        """When the client must have taken an answer: what was played in time is told."""
        return max(self.deadline(), time.monotonic() + LINGER_SECONDS)

    def time_is_over(self) -> WallClockTimeoutError:
        """What ends a run at its wall-clock limit."""
        return WallClockTimeoutError(f"all {self.limits.wall_clock:g} s are used up")

    def answer(self, connection: Connection) -> None:
        """One request, one answer. Errors: GymRemoteError (it is over), as Connection's."""
        message = connection.receive(deadline=self.deadline())
        if time.monotonic() >= self.end:
            raise self.time_is_over()
        try:
            content, ends = self.reply(message)
        except (ResetError, Malformed) as error:  # nothing has changed, the client plays on
            self.refusals += 1
            if self.refusals >= PATIENCE:
                raise GymRemoteError(f"{PATIENCE} bad requests in a row: {error}") from None
            connection.send("exception", protocol.trouble(error), deadline=self.answer_deadline())
            return
        self.refusals = 0
        connection.send("update", content, deadline=self.answer_deadline(), **ends)
        if self.record.steps >= self.limits.timesteps:
            raise protocol.TimestepTimeoutError(f"all {self.limits.timesteps} timesteps are played")

    def reply(self, message: bytes) -> tuple[dict[str, Any], dict[str, bool]]:
        """A request -> content of its answer, and what goes beside it for clients that ask.

        Errors: Malformed, ResetError (nothing changed), ClientDisconnectError.
        """
        envelope: protocol.Envelope = protocol.decode(message, protocol.Envelope)
        if envelope.type == "close":
            raise protocol.ClientDisconnectError("the client closed")
        if envelope.type != "update":
            raise Malformed(f"a client sends update or close, not {envelope.type[:40]!r}")
        request: protocol.Request = protocol.decode(envelope.content, protocol.Request)
        # The 2018 client repeats an unanswered reset beside every action that follows: after a
        # refused one, reset and action together mean the action.
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
        """Begin an episode. Errors: ResetError (in mid-episode)."""
        if self.playing:
            self.reset_refused = True
            raise ResetError("reset in mid-episode: step until done")
        screen, _ = self.env.reset(seed=None if self.started else self.seed)
        self.started = self.playing = True
        self.record.reset()
        self.show(screen)
        return 0.0, False, False

    def step(self, number: int | None) -> tuple[float, bool, bool]:
        """Play one step: (reward, terminated, truncated). Errors: Malformed, ResetError."""
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
        self.record.step(float(reward), terminated=bool(terminated), truncated=bool(truncated))
        return float(reward), bool(terminated), bool(truncated)

    def show(self, screen: np.ndarray) -> None:
        """Put the screen in the shared file.

        Written, not mapped: a client that cuts the file short must not kill this process.
        """
        assert screen.shape == self.shape and screen.dtype == np.uint8, screen.shape
        if os.pwrite(self.screen, np.ascontiguousarray(screen).data, 0) < screen.nbytes:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} for a whole screen")

    def farewell(self, error: GymRemoteError) -> None:
        """Tell the client why it is over, and wait a little until it has heard."""
        if self.connection is None:
            return
        sock = self.connection.sock
        deadline = time.monotonic() + LINGER_SECONDS
        # Unread bytes at the close would reach the client as a reset connection, without words.
        with contextlib.suppress(OSError, Gone, Late):
            self.connection.send("close", protocol.trouble(error), deadline=deadline)
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(time_left(deadline))
            while sock.recv(1 << 16):
                sock.settimeout(time_left(deadline))
        sock.close()
        self.connection = None

    def close(self) -> None:
        """Let go of the screen's file."""
        os.close(self.screen)
