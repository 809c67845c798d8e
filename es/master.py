"""Evolution Strategies on many processes: mpirun -n 4 python es/master.py --init CHECKPOINT …

The flags are those of `python -m es.train`, and without mpirun it is the same. Where a process
fails or dies, all stop at once; --resume goes on from the last generation. With --go-on the others
go on without it (es/README.md says where that is possible).
"""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

if __name__ == "__main__":  # run as a file: the packages are beside its folder, not in it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from es.survivors import PATIENCE, Survivors
from es.train import train
from es.world import AgreedError, MPIWorld, mpirun_says
from experiment.errors import UserError, command

GO_ON = "--go-on"
GUARDED = "ES_GUARDED"
"""In the environment of a process that another one waits for."""


def together(work: Callable[[MPIWorld], None]) -> None:
    """Do `work` in every process; an error in one of them is the end of all."""
    world = MPIWorld()
    try:
        work(world)
    except AgreedError:  # all processes are here, and one says why
        world.close()
        if world.rank == 0:
            raise
        raise SystemExit(2) from None
    except SystemExit:  # --help
        world.close()
        raise
    except BaseException as error:
        if world.size == 1:
            raise
        complain(error)
        world.abort(exit_code(error))
    world.close()


def go_on(work: Callable[[Survivors], None], *, patience: float = PATIENCE) -> None:
    """Do `work` in every process; the end of one is that of all only where it is the first."""
    code, world = 0, Survivors(patience)
    try:
        work(world)
    except AgreedError as error:
        code = exit_code(error)
        if world.rank == 0:
            complain(error)
    except SystemExit:  # --help
        pass
    except BaseException as error:
        code = exit_code(error)
        complain(error)
        if world.rank == 0 and world.size > 1:
            world.abort(code)
    world.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # MPI's own end would wait for the dead


def complain(error: BaseException) -> None:
    """Say what was wrong: in one line where it is a user's mistake."""
    if isinstance(error, UserError):
        print(f"error: {error}", file=sys.stderr, flush=True)
    else:
        traceback.print_exception(error)


def exit_code(error: BaseException) -> int:
    """2 for a user's mistake, as everywhere."""
    return 2 if isinstance(error, UserError) else 1


def guard() -> int:
    """Run this very command in a process of its own, and wait for its end -> the exit code.

    MPICH's mpirun kills all processes when one that it has started is killed, whatever it is told.
    So what it has started is this one. It is told of the death, by SIGUSR1 to all. Where a process
    was killed without which the others go on, that is no failure.
    """
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # which the new process inherits
    child = subprocess.Popen(
        [sys.executable, *sys.orig_argv[1:]], env={**os.environ, GUARDED: "1"}, close_fds=False
    )
    code = child.wait()
    if code >= 0:
        return code
    print(f"process {child.pid} was killed by signal {-code}", file=sys.stderr, flush=True)
    return 128 - code if mpirun_says("RANK", otherwise=0) == 0 else 0


@command
def main() -> None:
    """Train as the command line says, in all processes."""
    words = [word for word in sys.argv[1:] if word != GO_ON]
    if len(words) == len(sys.argv) - 1:
        together(partial(train, words))
    elif GUARDED not in os.environ:
        raise SystemExit(guard())
    else:
        go_on(partial(train, words))


if __name__ == "__main__":
    main()
