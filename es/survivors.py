"""The processes of a run whose others go on when one dies: `python es/master.py --go-on`.

Everything passes through the first process, by plain messages between two: it gives out episodes,
collects what was played, and leaves out who has been silent for too long. So no process ever waits
in an operation of all, which would never end without the dead one. The first one itself is needed.
"""

import contextlib
import math
import struct
import threading
import time
from typing import Any, final

from es.world import POLL_SECONDS, load_mpi

PATIENCE = 60.0
"""Seconds of silence after which a process is given up. Each says every second that it lives, from
a thread of its own, so that a long update or a slow emulator is no silence."""
START_SECONDS = 120.0
"""For so much longer a process may be silent at first: they do not start at the same moment."""
BEAT = 1.0
"""Seconds between two signs of life."""
UNHEARD_BEATS = 16
"""So many signs of life are sent to a process that gives none: a dead one takes none, and MPICH
sends nothing to anybody once 64 messages wait to be taken."""
UP, DOWN, LIFE = 1, 2, 3
"""Tags of messages to the first process, from it, and of signs of life."""
CLAIM, GIVE, OUT = b"c", b"g", b"o"
"""What a message is, its first byte: an episode, a payload or all, you are out."""


@final
class Survivors:
    """The processes that mpirun has started, as far as they live."""

    shares = False

    def __init__(self, patience: float = PATIENCE) -> None:
        """UserError: there is no mpi4py, or no MPI that it can use."""
        self.mpi: Any = load_mpi()
        self.comm = self.mpi.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self.waited, self.sent, self.patience = 0.0, 0, patience
        self.next = 0
        self.parts: dict[int, bytes] = {}
        self.sending: list[tuple[Any, bytes]] = []
        self.broken: list[tuple[Any, bytearray]] = []  # never came whole; MPI may write there still
        self.lock = threading.Lock()  # around all calls of MPI
        others = range(1, self.size) if self.rank == 0 else [0]
        self.heard = dict.fromkeys(others, time.monotonic() + START_SECONDS)
        self.unheard = dict.fromkeys(others, 0)  # signs of life sent since the last one came
        self.over = threading.Event()
        self.pulse = threading.Thread(target=self._live, daemon=True)
        self.pulse.start()

    def open(self) -> None:
        # Whoever claims has got the first process's answer to an exchange, after which it comes
        # here before it looks at messages again.
        self.next = 0

    def claim(self) -> int:
        if self.rank:
            self._send(0, CLAIM)
            (number,) = struct.unpack("<q", self._answer())
            return int(number)
        self.progress()
        self.next += 1
        return self.next - 1

    def exchange(self, payload: bytes) -> list[bytes]:
        """The payloads of all that live, by rank, and of those that died since they gave theirs."""
        began = time.monotonic()
        self.sent += len(payload) + 1
        if self.rank:
            self._send(0, GIVE + payload)
            answer = self._answer()
        else:
            self.parts[0] = payload
            while not self.heard.keys() <= self.parts.keys():
                self.progress()
                time.sleep(POLL_SECONDS)
            everyone = [part for _, part in sorted(self.parts.items())]
            self.parts = {}
            answer = b"".join(struct.pack("<q", len(part)) + part for part in everyone)
            for rank in list(self.heard):
                self._send(rank, GIVE + answer)
        self.waited += time.monotonic() - began
        return _unpacked(answer)

    def progress(self) -> None:
        """Take in what has come; the first process answers it, and looks who is silent."""
        for rank, message in self._received():
            if rank in self.heard:
                self._take(rank, message)
        self._miss_the_silent()

    def close(self) -> None:
        """Leave when all that was sent has been taken, or nobody takes it any more."""
        self.over.set()
        self.pulse.join()
        until = time.monotonic() + self.patience
        while self.sending and time.monotonic() < until:
            self._forget_sent()
            time.sleep(POLL_SECONDS)

    def abort(self, code: int) -> None:
        """End every process of the run at once, this one too."""
        self.comm.Abort(code)

    def _take(self, rank: int, message: bytes) -> None:
        """Of a member, in the first process; a member hears answers, and that it is out."""
        if message == CLAIM:
            self._send(rank, CLAIM + struct.pack("<q", self.next))
            self.next += 1
        elif message[:1] == GIVE:
            self.parts[rank] = message[1:]
        elif message == OUT:
            raise RuntimeError(f"process {self.rank} was silent for too long: the others go on")

    def _miss_the_silent(self) -> None:
        now = time.monotonic()
        for rank in [rank for rank, heard in self.heard.items() if now - heard > self.patience]:
            if self.rank:
                raise RuntimeError("the first process has died; go on with --resume")
            self._give_up(rank)

    def _give_up(self, rank: int) -> None:
        print(f"process {rank} has died: the others go on", flush=True)
        del self.heard[rank]
        self._send(rank, OUT)  # it may only have been asleep

    def _answer(self) -> bytes:
        """What the first process says to a member that has asked. Errors: RuntimeError."""
        while True:
            answers = []
            for rank, message in self._received():
                if message[:1] in (CLAIM, GIVE):
                    answers.append(message[1:])
                else:
                    self._take(rank, message)
            if answers:
                return answers[0]
            self._miss_the_silent()  # `progress` would take the answer away
            time.sleep(POLL_SECONDS)

    def _received(self) -> list[tuple[int, bytes]]:
        """The messages that have come, with their senders; to a member one at a time."""
        return self._come(DOWN if self.rank else UP)

    def _come(self, tag: int) -> list[tuple[int, bytes]]:
        """The messages of that tag that have come, with their senders."""
        found: list[tuple[int, bytes]] = []
        status = self.mpi.Status()
        while True:
            with self.lock:
                message = self.comm.Improbe(self.mpi.ANY_SOURCE, tag, status)
                if not message:
                    return found
                taken = bytearray(status.Get_count(self.mpi.BYTE))
                request = message.Irecv([taken, self.mpi.BYTE])
            if self._comes_whole(request, status.Get_source()):
                found.append((status.Get_source(), bytes(taken)))
            else:
                self.broken.append((request, taken))

    def _comes_whole(self, request: Any, rank: int) -> bool:
        """Wait for the rest of a message; no longer than its sender gives signs of life."""
        while True:
            with self.lock:
                try:
                    if request.Test():
                        return True
                except self.mpi.Exception:
                    return False
            if time.monotonic() - self.heard.get(rank, -math.inf) > self.patience:
                return False
            time.sleep(POLL_SECONDS)

    def _send(self, rank: int, message: bytes, tag: int = 0) -> None:
        tag = tag or (DOWN if rank else UP)
        self._forget_sent()
        # To a dead process some MPIs cannot send: its silence will tell.
        with self.lock, contextlib.suppress(self.mpi.Exception):
            request = self.comm.Isend([message, self.mpi.BYTE], rank, tag)
            self.sending.append((request, message))  # which must stay until it is taken

    def _forget_sent(self) -> None:
        with self.lock:
            self.sending = [one for one in self.sending if not self._taken(one[0])]

    def _taken(self, request: Any) -> bool:
        """Whether a message has left; one to a dead process leaves by an error."""
        try:
            return bool(request.Test())
        except self.mpi.Exception:
            return True

    def _live(self) -> None:
        """Say every second that this process lives, and hear of others that they do."""
        while not self.over.wait(BEAT):
            for rank, _ in self._come(LIFE):
                if rank in self.heard:
                    self.heard[rank], self.unheard[rank] = time.monotonic(), 0
            for rank in list(self.heard):
                if self.unheard[rank] < UNHEARD_BEATS:
                    self.unheard[rank] += 1
                    self._send(rank, b"", LIFE)


def _unpacked(answer: bytes) -> list[bytes]:
    """Payloads that were put behind their lengths."""
    found, at = [], 0
    while at < len(answer):
        (length,) = struct.unpack_from("<q", answer, at)
        found.append(answer[at + 8 : at + 8 + length])
        at += 8 + length
    return found
