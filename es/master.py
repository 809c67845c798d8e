#!/usr/bin/env python3
"""Evolution Strategies on many processes: mpirun -n 4 python es/master.py

Without flags it searches the fully connected layer of ppo2/pretrained on all training levels. The
flags are those of `python -m es.train`, and without mpirun it behaves the same. If a process fails
or dies, all stop at once; --resume continues from the last checkpoint.
"""

import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

if __name__ == "__main__":  # run as a file: the packages are beside its folder, not in it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from es.mpi import Agreed, Together
from es.train import train_in_world
from retro_agents.ground.errors import command


def together(work: Callable[[Together], None]) -> None:
    """Do `work` in every process; an error in one of them ends all."""
    world = Together()
    try:
        command(work)(world)
    except BaseException as error:
        code = getattr(error, "code", 1)  # a SystemExit has already reported; --help exits with 0
        if world.size > 1 and code and not isinstance(error, Agreed):
            if not isinstance(error, SystemExit):
                traceback.print_exception(error)
            world.abort(code)
        raise
    finally:
        world.close()


@command
def main() -> None:
    """Train in all processes as the command line says."""
    together(partial(train_in_world, None))


if __name__ == "__main__":
    main()
