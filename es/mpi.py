"""The processes of a run: a single one, or as many as MPI has started.

They share a counter, with which they claim episodes, and exchange bytes: records of episodes, and
sums of noise.
"""

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import final

import numpy as np

from retro_agents.ground.errors import UserError

POLL_SECONDS = 0.0005
"""Seconds between two checks whether others have come: MPI's own waiting keeps a core busy."""
RANKS = {"Open MPI": "OMPI_COMM_WORLD_RANK", "MPICH": "PMI_RANK"}
"""The variable in which each MPI's mpirun tells a process its number."""
FORWARDING_SECONDS = 0.5
"""Seconds between an error's output and the end of all processes, in which mpirun forwards it."""


class Interrupted(Exception):  # noqa: N818
    """A generation was interrupted."""


class World:
    """A single process, without MPI.

    rank: of this process. size: number of processes. waited: seconds spent waiting for others.
    sent: bytes that this process sent to others.
    """

    def __init__(self) -> None:
        self.rank, self.size, self.waited, self.sent = 0, 1, 0.0, 0
        self.interrupted: Callable[[], bool] = lambda: False

    def claims(self, count: int) -> Iterator[int]:
        """Yield those numbers below `count` that no other process claims, each when it is
        requested. Callers must exhaust the iterator, and `exchange`, before they claim again."""
        return iter(range(count))

    def exchange(self, payload: bytes, *, may_leave: bool = False) -> list[bytes]:
        """Every process's payload, by rank. may_leave: raise Interrupted in an interrupted run."""
        return [payload]

    def progress(self) -> None:
        """Let messages of others pass, at every step. Raises Interrupted if it was interrupted."""
        if self.interrupted():
            raise Interrupted


@final
class Together(World):
    """The processes that mpirun has started; a single one without mpirun."""

    def __init__(self) -> None:
        """Raises UserError if there is no mpi4py, or no MPI that it can use."""
        super().__init__()
        try:
            import mpi4py

            mpi4py.rc(initialize=False)  # else MPI may abort before `check_starter`
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise UserError(f"MPI does not work ({error}); install mpi4py and mpich") from None
        check_starter(MPI.Get_library_version(), os.environ)
        if not MPI.Is_initialized():
            MPI.Init_thread()
            atexit.register(MPI.Finalize)
        self.mpi, self.comm = MPI, MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self.claimed = 0
        # A counter that only grows, in the first process's memory.
        self.window = MPI.Win.Allocate(8 if self.rank == 0 else 0, 8, comm=self.comm)
        self.window.Lock_all()
        if self.rank == 0:
            self.window.Put(np.zeros(1, np.int64), 0)
            self.window.Flush(0)
        self.comm.Barrier()

    def claims(self, count: int) -> Iterator[int]:
        first, one, found = self.claimed, np.ones(1, np.int64), np.zeros(1, np.int64)
        self.claimed += count + self.size  # every process asks once too often
        while True:
            self.window.Fetch_and_op(one, found, 0, 0, self.mpi.SUM)
            self.window.Flush(0)
            if found[0] - first >= count:
                return
            yield int(found[0] - first)

    def exchange(self, payload: bytes, *, may_leave: bool = False) -> list[bytes]:
        began = time.monotonic()
        here = self.comm.Ibarrier()
        while not here.Test():
            if may_leave:
                super().progress()
            time.sleep(POLL_SECONDS)
        found: list[bytes] = self.comm.allgather(payload)
        self.waited += time.monotonic() - began
        self.sent += len(payload) + 8
        return found

    def progress(self) -> None:
        super().progress()
        self.comm.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG)

    def abort(self, code: int) -> None:
        """End every process of the run at once, including this one."""
        time.sleep(FORWARDING_SECONDS)
        self.comm.Abort(code)

    def close(self) -> None:
        """Leave together with the others."""
        self.window.Unlock_all()
        self.window.Free()


@final
class Agreed(SystemExit):
    """Every process of the run ends, and one of them has printed why."""


@contextlib.contextmanager
def agreeing(world: World) -> Iterator[None]:
    """If one process fails within, all stop.

    In one process alone the UserError is raised as it is. With several, the first one prints the
    first of their errors, and every one raises Agreed.
    """
    problem = ""
    try:
        yield
    except UserError as error:
        if world.size == 1:
            raise
        problem = str(error)
    problems = list(filter(None, world.exchange(problem.encode())))
    if problems and world.rank == 0:
        print(f"error: {problems[0].decode()}", file=sys.stderr)
    if problems:
        raise Agreed(2)


def check_starter(library: str, environment: Mapping[str, str]) -> None:
    """Raises UserError if the mpirun of another MPI than the library started this process; in
    ranks above 0, Agreed. library: as MPI names itself."""
    ours = "Open MPI" if "Open MPI" in library else "MPICH"
    ranks = {name: environment[rank] for name, rank in RANKS.items() if rank in environment}
    if not ranks or ours in ranks or "SLURM_PROCID" in environment:  # Slurm starts both
        return
    ((theirs, rank),) = ranks.items()
    if rank != "0":
        raise Agreed(2)
    mpirun = Path(sys.executable).parent / "mpirun"
    raise UserError(f"{theirs}'s mpirun started this, but mpi4py uses {ours}: use {mpirun}")


def is_first() -> bool:
    """Whether no mpirun started this process, or as its first one, found without MPI."""
    return all(os.environ.get(rank, "0") == "0" for rank in RANKS.values())


def processes() -> int:
    """Number of processes that MPICH's or Open MPI's mpirun started, found without MPI."""
    environment = os.environ
    return int(environment.get("PMI_SIZE") or environment.get("OMPI_COMM_WORLD_SIZE") or 1)
