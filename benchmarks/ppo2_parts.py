"""The measurements behind benchmarks.ppo2: each function is one case, run in its own process."""

import contextlib
import itertools
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiment.config import load_config
from ppo2.config import PPO2Config
from ppo2.train import PRESETS, run
from ppo2.training import Training
from retro_env import EnvConfig, Level, RetroVectorEnv, make_vec

Row = dict[str, float]
LEVEL = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
WORKERS, ROLLOUT_STEPS, MINIBATCHES, EPOCHS = 8, 128, 4, 3
ROWS = WORKERS * ROLLOUT_STEPS


def cpu_seconds(pids: list[int]) -> float:
    """CPU time of this process, its threads included, and of others."""
    read = (Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii") for pid in pids)
    return time.process_time() + sum(int(text.split()[0]) for text in read) * 1e-9


@dataclass
class Cycles:
    """Times whole cycles of a rollout and the learning from it, the first one left out."""

    seconds: float
    pids: list[int]
    marks: list[tuple[float, float]] = field(default_factory=list)

    def mark(self) -> bool:
        """A rollout begins; True once two cycles or more took the time."""
        self.marks.append((time.perf_counter(), cpu_seconds(self.pids)))
        return len(self.marks) > 3 and self.marks[-1][0] - self.marks[1][0] >= self.seconds

    def result(self) -> Row:
        """Agent steps per second, and CPU time per agent step of all processes together."""
        (start, cpu), (end, cpu_end) = self.marks[1], self.marks[-1]
        steps = (len(self.marks) - 2) * ROWS
        return {
            "steps_per_second": steps / (end - start),
            "cpu_ms_per_step": 1000.0 * (cpu_end - cpu) / steps,
        }


class TimeOver(Exception):  # noqa: N818 - it is no error
    """Ends a run without its last checkpoint."""


def report(row: Row) -> None:
    """The one line that the benchmark reads."""
    print(json.dumps(row), flush=True)


def shared_config(precision: str, threads: int, *, overlap: bool = False) -> PPO2Config:
    """The contest preset, with what every agent in this comparison shares."""
    flags = {
        "precision": precision,
        "torch-threads": threads,
        "num-envs": WORKERS,
        "rollout-steps": ROLLOUT_STEPS,
        "minibatches": MINIBATCHES,
        "epochs": EPOCHS,
        "checkpoint-every": 0,
        "timesteps": 10**9,
        "device": "cpu",
    }
    argv = [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    argv += ["--preset", "contest", *(["--overlap"] if overlap else [])]
    return load_config(PPO2Config, argv, presets=PRESETS, command="benchmarks.ppo2")


def make_envs() -> RetroVectorEnv:
    """Eight workers on the level that every agent plays."""
    return make_vec([LEVEL], num_envs=WORKERS, config=EnvConfig(), seed=0)


def env_only(seconds: float) -> Row:
    """Eight workers with random actions."""
    envs = make_envs()
    random = np.random.default_rng(0)
    try:
        envs.reset(seed=0)
        cycles = Cycles(seconds, envs.workers)
        while not cycles.mark():
            for _ in range(ROLLOUT_STEPS):
                envs.step(random.integers(0, 7, WORKERS))
    finally:
        envs.close()
    return cycles.result()


def update_only(seconds: float, *, precision: str, threads: int) -> Row:
    """Learning from one rollout of noise, and acting for eight observations."""
    config = shared_config(precision, threads)
    training = Training(config, WORKERS)
    random = np.random.default_rng(0)
    obs = random.integers(0, 256, (16, WORKERS, 4, 84, 84), np.uint8)
    never = np.zeros(WORKERS, bool)
    cycles, acted = Cycles(seconds, []), []
    while True:
        start = time.process_time(), time.perf_counter()
        for t in range(ROLLOUT_STEPS):
            for part in training.parts:
                training.act(obs[t % 16], part)
                flags = never[part]
                rewards = random.normal(size=len(flags))
                training.add(rewards, flags, flags, {}, levels=[""] * WORKERS, part=part)
        acted.append((time.process_time() - start[0], time.perf_counter() - start[1]))
        if cycles.mark():
            break
        training.learn(obs[0])
    cpu, wall = (float(np.mean(acted[2:], axis=0)[i]) for i in (0, 1))
    row = cycles.result()
    learning = ROWS / row["steps_per_second"] - wall
    return {
        "steps_per_second": ROWS / learning,
        "cpu_ms_per_step": row["cpu_ms_per_step"] - 1000.0 * cpu / ROWS,
        "act_8_ms": 1000.0 * wall / ROLLOUT_STEPS,
        "act_8_cpu_ms": 1000.0 * cpu / ROLLOUT_STEPS,
    }


def end_to_end(seconds: float, *, precision: str, threads: int, overlap: bool) -> Row:
    """`ppo2.train.run` as it is."""
    config, envs = shared_config(precision, threads, overlap=overlap), make_envs()
    if overlap:
        envs.lower_priority()
    cycles, wait = Cycles(seconds, envs.workers), envs.step_wait
    # Marked at the first wait of each rollout: one step late, every time.
    waits = itertools.cycle(range(ROLLOUT_STEPS * config.act_parts))

    def step_wait(part: slice | None = None) -> Any:
        if next(waits) == 0 and cycles.mark():
            raise TimeOver
        return wait(part)

    envs.step_wait = step_wait  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(TimeOver):
            run(envs, config, Path(folder) / "run")
    finally:
        envs.close()
    return cycles.result()
