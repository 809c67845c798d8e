"""Runs a module as `python -m` does, and ends it with the process that started it.

python -m retro_agents.ground.leash ppo2.train --preset fast …

Standard input is the leash: it closes when that process ends, even if it is killed. The module then
gets SIGTERM, upon which a training saves; what is left of its process group is killed later.
"""

import os
import runpy
import signal
import sys
import time

from retro_agents.ground.processes import GRACE, hold_leash


def leave() -> None:
    """End this process in order, and after GRACE seconds its whole group."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    hold_leash(leave)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
