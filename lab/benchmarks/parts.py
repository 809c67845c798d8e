"""Helpers of the benchmarks. Times are milliseconds: `ms` of wall-clock time, `cpu_ms` of all
threads of this process. The second hardly depends on the machine's other load."""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.benchmarks.cases import Row
from lab.benchmarks.peers.stopwatch import LEVEL, WORKERS
from retro_agents.games.families import make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env


def timed(call: Callable[[], Any], *, seconds: float, name: str) -> Row:
    """Mean time of a call, after a warm-up of a fifth of the time."""
    for limit in (seconds / 5, seconds):
        calls, wall, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < limit or calls == 0:
            call()
            calls += 1
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {f"{name}_ms": 1000.0 * wall / calls, f"{name}_cpu_ms": 1000.0 * cpu / calls}


def scheduled(pid: int) -> NDArray[np.float64]:
    """Seconds that a process's main thread ran, and that it waited for a core (Linux)."""
    text = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii")
    return np.array(text.split()[:2], float) * 1e-9


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time that other processes' main threads have used."""
    return float(sum(scheduled(pid)[0] for pid in pids))


def cpu_with(pids: Sequence[int]) -> Callable[[], float]:
    """CPU seconds of this process and others so far, for a `Stopwatch`."""
    return lambda: time.process_time() + cpu_seconds(pids)


def preset_config(parse: Callable[[Sequence[str]], Any], preset: str, **flags: object) -> Any:
    """A trainer's config: a preset, with the values that every agent in a comparison shares."""
    shared = {"checkpoint-every": 0, "timesteps": 10**9, "device": "cpu"}
    given = shared | {name.replace("_", "-"): value for name, value in flags.items()}
    words = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return parse(["--preset", preset, *words])


def make_envs(settings: Any, num_envs: int = WORKERS) -> Any:
    """Environments on the level that every agent plays."""
    return make(LEVEL, settings, num_envs=num_envs, seed=0)


def one_env(seconds: float, **settings: Any) -> Row:
    """One environment in this process, with random actions: steps and episodes per second."""
    env = make_env(LEVEL, EnvConfig(**settings))
    random, episodes = np.random.default_rng(0), [0]
    env.reset(seed=0)

    def step() -> None:
        *_, terminated, truncated, _ = env.step(int(random.integers(7)))
        if terminated or truncated:
            episodes[0] += 1
            env.reset()

    began = time.perf_counter()
    rate = 1000.0 / timed(step, seconds=seconds, name="step")["step_ms"]
    each = episodes[0] / (time.perf_counter() - began)
    env.close()
    return {"steps_per_second": rate, "episodes_per_second": each}


def env_only(seconds: float, envs: Any) -> Row:
    """Environments with random actions, which are then closed: agent steps per second, CPU time of
    a vector step."""
    with closing(envs):
        envs.reset(seed=0)
        random = np.random.default_rng(0)
        timed(lambda: envs.step(random.integers(0, 7, envs.num_envs)), seconds=0.5, name="warm_up")
        steps, cpu, start = 0, cpu_seconds(envs.workers), time.process_time()
        clock = time.perf_counter()
        while time.perf_counter() - clock < seconds:
            envs.step(random.integers(0, 7, envs.num_envs))
            steps += 1
        wall, main = time.perf_counter() - clock, time.process_time() - start
        workers = cpu_seconds(envs.workers) - cpu
    return {
        "steps_per_second": steps * envs.num_envs / wall,
        "workers_cpu_ms": 1000.0 * workers / steps,
        "main_cpu_ms": 1000.0 * main / steps,
    }


class TimeOver(Exception):  # noqa: N818 - it is no error
    """Ends a run without its last checkpoint."""


def run_until(
    over: Callable[[int], bool], run: Callable[[Any, Any, Path], Any], envs: Any, config: Any
) -> None:
    """A trainer's own loop on `envs`, until `over` is true, which is called after each step of some
    of them with the agent steps so far."""
    wait, steps = envs.step_wait, 0

    def step_wait(part: slice | None = None) -> Any:
        nonlocal steps
        found = wait(part)
        steps += len(found[0])
        if over(steps):
            raise TimeOver
        return found

    envs.step_wait = step_wait
    with closing(envs), suppress(TimeOver), tempfile.TemporaryDirectory() as folder:
        run(envs, config, Path(folder) / "run")
