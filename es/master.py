"""Evolution Strategies on many processes: mpirun -n 4 python es/master.py --init CHECKPOINT …

The flags are those of `python -m es.train`, and without mpirun it is the same. Where a process
fails or dies, all stop at once; --resume goes on from the last checkpoint.
"""

import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

if __name__ == "__main__":  # run as a file: the packages are beside its folder, not in it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from es.mpi import AgreedError, Together
from es.train import train
from experiment.errors import UserError, command


def together(work: Callable[[Together], None]) -> None:
    """Do `work` in every process; an error in one of them is the end of all."""
    world = Together()
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
        code = 1
        if isinstance(error, UserError):
            code = 2
            print(f"error: {error}", file=sys.stderr, flush=True)
        elif isinstance(error, KeyboardInterrupt):
            code = 130
            print("; ".join(["interrupted", *map(str, error.args)]), file=sys.stderr, flush=True)
        else:
            traceback.print_exception(error)
        world.abort(code)
    world.close()


@command
def main() -> None:
    """Train as the command line says, in all processes."""
    together(partial(train, sys.argv[1:]))


if __name__ == "__main__":
    main()
