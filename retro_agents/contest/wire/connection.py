"""Messages over a Unix socket, with deadlines."""

import contextlib
import socket
import struct
import time
from typing import Any, final

from retro_agents.contest.wire.protocol import END, encode
from retro_agents.contest.wire.waiting import SpinWait

LONGEST = 4096
"""Longest message in bytes that is read. A request has less than a hundred bytes."""
SLICE_SECONDS = 1.0
"""Longest wait of one call before the deadline is checked again."""


class Gone(Exception):  # noqa: N818
    """The other side has left."""


class Late(Exception):  # noqa: N818
    """A deadline has passed."""


class TooLong(Exception):  # noqa: N818
    """A message exceeds the longest allowed length, so what follows cannot be trusted."""


@final
class Connection:
    """Messages over a connected socket. Deadlines are in seconds of time.monotonic().

    The operating system does the waiting: a Python timeout would cost one more call for each call
    that may wait, and a step has four.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(None)
        self.buffer = bytearray()
        self.waits = {socket.SO_RCVTIMEO: 0.0, socket.SO_SNDTIMEO: 0.0}
        self.spin_wait = SpinWait()

    def wait_until(self, deadline: float, option: int) -> None:
        """Let the next call wait until the deadline, at most SLICE_SECONDS. Raises Late."""
        seconds = min(time_left(deadline), SLICE_SECONDS)
        if seconds != self.waits[option]:
            micros = max(int(seconds * 1e6), 1)  # 0 would mean no limit
            timeval = struct.pack("ll", micros // 1_000_000, micros % 1_000_000)
            self.sock.setsockopt(socket.SOL_SOCKET, option, timeval)
            self.waits[option] = seconds

    def send(self, kind: str, content: Any, *, deadline: float, **beside: Any) -> None:
        """Send one message. Raises Gone or Late."""
        self.send_bytes(encode(kind, content, **beside), deadline=deadline)

    def send_bytes(self, message: bytes, *, deadline: float) -> None:
        """Send one message that `encode` made. Raises Gone or Late."""
        while message:
            try:
                self.wait_until(deadline, socket.SO_SNDTIMEO)
                message = message[self.sock.send(message) :]
            except BlockingIOError:
                continue
            except OSError:
                raise Gone from None

    def receive(self, *, deadline: float) -> bytes:
        """The next message without its end. Raises Gone, Late or TooLong."""
        searched = 0
        while True:
            end = self.buffer.find(END, searched)
            if end > LONGEST or (end < 0 and len(self.buffer) > LONGEST):
                raise TooLong(f"a message of more than {LONGEST} bytes")
            if end >= 0:
                message = bytes(self.buffer[:end])
                del self.buffer[: end + 1]
                return message
            searched = len(self.buffer)
            self.buffer += self.receive_some(deadline)

    def receive_some(self, deadline: float) -> bytes:
        """The next bytes, at least one. Raises Gone or Late."""
        begun = time.perf_counter()
        try:
            chunk = self.spin_wait.spin(self.sock, LONGEST)
            while chunk is None:
                self.wait_until(deadline, socket.SO_RCVTIMEO)
                with contextlib.suppress(BlockingIOError):  # SLICE_SECONDS are over
                    chunk = self.sock.recv(LONGEST)
        except OSError:
            raise Gone from None
        if not chunk:
            raise Gone
        self.spin_wait.waited(time.perf_counter() - begun)
        return chunk


def time_left(deadline: float) -> float:
    """Seconds until the deadline, at most a year. Raises Late if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise Late
    return min(left, 365 * 86_400.0)
