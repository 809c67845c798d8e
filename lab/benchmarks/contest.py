"""Speed of a level played through the contest's server and client, relative to the level itself.

Cases and aims: docs/contribute/benchmarks.md.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Rows
from lab.benchmarks.parts import cpu_seconds
from lab.benchmarks.peers.stopwatch import LEVEL
from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env, wrap_agent
from retro_agents.ground.errors import UserError

LEVELS_AT_A_TIME = (1, 2, 4)
KINDS = ("local", "remote", "record")
BLOCK_SECONDS = 0.25
AIM = 0.9


class Player:
    """Random play of one kind of environment, in blocks."""

    def __init__(self, kind: str, backend: Any, stack: ExitStack) -> None:
        self.pids = [os.getpid()]
        if kind == "local":
            self.env: Any = make_env(LEVEL, EnvConfig(backend=backend))
        else:
            self.env, server = remote(stack, backend, record=kind == "record")
            self.pids.append(server)
        stack.callback(self.env.close)
        self.random = np.random.default_rng(0)
        self.env.reset(seed=0)

    def play(self, seconds: float) -> NDArray[np.float64]:
        """Play for about so long -> steps, seconds, and CPU seconds of both sides."""
        steps, start, busy = 0, time.perf_counter(), cpu_seconds(self.pids)
        while (passed := time.perf_counter() - start) < seconds:
            _, _, terminated, truncated, _ = self.env.step(int(self.random.integers(7)))
            if terminated or truncated:
                self.env.reset()
            steps += 1
        return np.array([steps, passed, cpu_seconds(self.pids) - busy])


def remote(stack: ExitStack, backend: str, *, record: bool) -> tuple[Any, int]:
    """The level in a server process, which ends with the stack, and that process's id."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="contest-")))
    argv = [sys.executable, "-m", "retro_agents.contest.serve", *LEVEL.split(":")]
    argv += ["--dir", str(folder), "--results", str(folder / "results"), "--backend", backend]
    argv += ["--record"] if record else []
    server = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.DEVNULL))
    return wrap_agent(RemoteEnv(folder, level=LEVEL), EnvConfig()), server.pid


def alternate(barrier: Any, blocks: int, backend: str) -> dict[str, tuple[float, float]]:
    """One of K processes: plays all kinds in turn, in step with the others -> by kind (steps per
    second, CPU seconds per step)."""
    with ExitStack() as stack:
        players = {kind: Player(kind, backend, stack) for kind in KINDS}
        played = {kind: np.zeros(3) for kind in KINDS}
        for block in range(-1, blocks):  # the first one is a warm-up
            for kind, player in players.items():
                barrier.wait(timeout=60.0)
                played[kind] += player.play(BLOCK_SECONDS) * (block >= 0)
    return {kind: (n / seconds, busy / n) for kind, (n, seconds, busy) in played.items()}


def play_all(levels: int, seconds: float, backend: str) -> Repeat:
    """Steps per second of each kind with so many parallel levels, summed over them; with one
    level also CPU microseconds per step."""
    context = multiprocessing.get_context("spawn")
    blocks = max(1, round(seconds / BLOCK_SECONDS))
    with context.Manager() as manager, ProcessPoolExecutor(levels, mp_context=context) as pool:
        try:
            same = (manager.Barrier(levels), blocks, backend)
            running = [pool.submit(alternate, *same) for _ in range(levels)]
            rates = [one.result() for one in running]
        except BrokenProcessPool:
            raise UserError("a level's process ended early; its output is above") from None
    speed = {kind: sum(rate[kind][0] for rate in rates) for kind in KINDS}
    found = {f"{kind}_{levels}": {"steps_per_second": speed[kind]} for kind in KINDS}
    if levels == 1:
        found |= {f"cpu_us_{k}": {"microseconds": rates[0][k][1] * 1e6} for k in KINDS}
    return found


def table(repeats: list[Repeat], options: Options) -> Rows:
    pairs = [("cpu_us_local", "cpu_us_remote")]
    pairs += [(f"remote_{k}", f"local_{k}") for k in LEVELS_AT_A_TIME]
    pairs += [(f"record_{k}", f"remote_{k}") for k in LEVELS_AT_A_TIME]
    pairs += [(f"remote_{k}", "remote_1") for k in LEVELS_AT_A_TIME[1:]]
    aims = {("remote_1", "local_1"): AIM}
    ratios = [(one, other, aims.get((one, other))) for one, other in pairs]
    return [*cases.median_cases(repeats), *cases.ratio_rows(repeats, ratios)]


def measure(wanted: list[str], options: Options) -> Repeat:
    found: Repeat = {}
    for case in wanted:
        found |= play_all(int(case.partition("-")[0]), options.seconds, options.backend)
    return found


CASES = [f"{k}-levels" for k in LEVELS_AT_A_TIME]
more: Any = {"measure": measure, "seconds": 4.0, "backend": cases.BACKENDS}
main = cases.benchmark("contest", __doc__, CASES, table=table, **more)

if __name__ == "__main__":
    main()
