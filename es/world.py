"""The processes of a run: one alone, or as many as MPI has started.

They share a counter, by which they claim episodes, and exchange bytes: records of episodes, and
where an update is divided, sums of noise.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any, Literal, Protocol, final

import numpy as np

from experiment.errors import UserError

POLL_SECONDS = 0.0005
"""Between two looks at a message that is awaited: MPI's own waiting keeps a core busy."""


class World(Protocol):
    """rank: of this process. size: how many there were. waited: seconds spent waiting for others.
    sent: bytes that this process gave to others. shares: whether each can do a share of an update;
    not where one may be missing."""

    rank: int
    size: int
    shares: bool
    waited: float
    sent: int

    def open(self) -> None:
        """Begin to claim from 0 again, after an exchange; the first one comes with the others."""
        ...

    def claim(self) -> int:
        """The next number 0, 1, 2, … that no process has claimed."""
        ...

    def exchange(self, payload: bytes) -> list[bytes]:
        """Every process's payload, by rank; of those only that live where others may die."""
        ...

    def progress(self) -> None:
        """Let messages of others pass; called at every step."""
        ...


def mpirun_says(name: Literal["RANK", "SIZE"], *, otherwise: int) -> int:
    """This process's number (RANK), or how many there are (SIZE), without asking MPI.

    otherwise: where neither MPICH's nor Open MPI's mpirun has started it.
    """
    for prefix in ("PMI_", "OMPI_COMM_WORLD_"):
        if found := os.environ.get(prefix + name):
            return int(found)
    return otherwise


@final
class AgreedError(UserError):
    """A user's mistake that every process knows of."""


@contextlib.contextmanager
def agreeing(world: World) -> Iterator[None]:
    """What one process cannot do, none does. Errors: AgreedError, in every process, with the
    UserError of the first one that has any."""
    problem = ""
    try:
        yield
    except UserError as error:
        problem = str(error)
    problems = [found.decode() for found in world.exchange(problem.encode())]
    if any(problems):
        raise AgreedError(next(filter(None, problems)))


@final
class Alone:
    """One process without MPI."""

    shares = False

    def __init__(self) -> None:
        self.rank, self.size, self.waited, self.sent = 0, 1, 0.0, 0
        self.next = 0

    def open(self) -> None:
        self.next = 0

    def claim(self) -> int:
        self.next += 1
        return self.next - 1

    def exchange(self, payload: bytes) -> list[bytes]:
        return [payload]

    def progress(self) -> None:
        pass


def load_mpi() -> Any:
    """mpi4py's MPI. UserError: there is no mpi4py, or no MPI that it can use."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UserError(f"MPI does not work ({error}); install mpi4py and mpich") from None
    return MPI


@final
class MPIWorld:
    """The processes that mpirun has started, of which none may die; one where it has not."""

    shares = True

    def __init__(self) -> None:
        """UserError: there is no mpi4py, or no MPI that it can use."""
        self.mpi = MPI = load_mpi()
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self.waited, self.sent = 0.0, 0
        # Two counters, used in turn: one is set to zero while the other counts.
        self.window = MPI.Win.Allocate(16 if self.rank == 0 else 0, 8, comm=self.comm)
        self.window.Lock_all()
        self.slot = 0
        for slot in (0, 1):
            self._zero(slot)
        self.comm.Barrier()

    def open(self) -> None:
        # Nobody claims from the other counter now: an exchange lies between.
        self.slot = 1 - self.slot
        self._zero(1 - self.slot)

    def claim(self) -> int:
        found = np.zeros(1, np.int64)
        one = np.ones(1, np.int64)
        self.window.Fetch_and_op(one, found, 0, self.slot, self.mpi.SUM)
        self.window.Flush(0)
        return int(found[0])

    def exchange(self, payload: bytes) -> list[bytes]:
        began = time.monotonic()
        sizes = np.zeros(self.size, np.int64)
        self._wait(self.comm.Iallgather(np.array([len(payload)], np.int64), sizes))
        everyone = bytearray(int(sizes.sum()))
        counts = sizes.tolist()
        target = [everyone, counts, np.r_[0, np.cumsum(counts)[:-1]].tolist(), self.mpi.BYTE]
        self._wait(self.comm.Iallgatherv([payload, self.mpi.BYTE], target))
        self.waited += time.monotonic() - began
        self.sent += len(payload) + 8
        ends = np.cumsum(counts).tolist()
        return [bytes(everyone[end - n : end]) for n, end in zip(counts, ends, strict=True)]

    def progress(self) -> None:
        self.comm.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG)

    def abort(self, code: int) -> None:
        """End every process of the run at once, this one too."""
        self.comm.Abort(code)

    def close(self) -> None:
        """Leave together."""
        self.window.Unlock_all()
        self.window.Free()

    def _zero(self, slot: int) -> None:
        if self.rank == 0:
            self.window.Put(np.zeros(1, np.int64), 0, slot)
            self.window.Flush(0)

    def _wait(self, request: Any) -> None:
        while not request.Test():
            time.sleep(POLL_SECONDS)
