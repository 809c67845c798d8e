"""The measurements behind benchmarks.rainbow: each function is one case, run in its own process.

Times are milliseconds: `ms` by the clock, `cpu_ms` on all threads of this process. The second
hardly depends on what else the machine does.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.stopwatch import (
    BATCH_SIZE,
    LEARNING_STARTS,
    LEVEL,
    REPLAY_SIZE,
    STEPS_PER_UPDATE,
    WORKERS,
    Stopwatch,
)
from experiment.config import load_config
from experiment.device import prepare_device
from experiment.seeding import seed_everything
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from rainbow.learner import Learner
from rainbow.memory import Replay, SumTree
from rainbow.train import PRESETS, run
from retro_env import EnvConfig, Level, RetroVectorEnv, make_vec

Row = dict[str, float]
LEAVES = 1 << 20
FILL = 100_000
EPISODE = 250
"""Agent steps of the made-up episodes that fill a replay: about what random play lasts."""


def timed(call: Callable[[], Any], *, seconds: float, name: str) -> Row:
    """Mean time of a call, after a warm-up of a fifth of the time."""
    for limit in (seconds / 5, seconds):
        calls, wall, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < limit or calls == 0:
            call()
            calls += 1
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {f"{name}_ms": 1000.0 * wall / calls, f"{name}_cpu_ms": 1000.0 * cpu / calls}


def shared_config(preset: str, precision: str, threads: int) -> RainbowConfig:
    """A preset, with what every agent in this comparison shares."""
    flags = {
        "precision": precision,
        "torch-threads": threads,
        "num-envs": WORKERS,
        "batch-size": BATCH_SIZE,
        "update-every": STEPS_PER_UPDATE,
        "replay-size": REPLAY_SIZE,
        "learning-starts": LEARNING_STARTS,
        "rotate-every": 0,
        "checkpoint-every": 0,
        "timesteps": 10**9,
        "device": "cpu",
    }
    argv = [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    argv += ["--preset", preset]
    return load_config(RainbowConfig, argv, presets=PRESETS, command="benchmarks.rainbow")


def make_replay(config: RainbowConfig, capacity: int) -> Replay:
    """An empty replay for that config."""
    spec = config.env.spec()
    return Replay(
        capacity,
        WORKERS,
        frame_shape=(spec.channels, *spec.observation_shape[1:]),
        frame_stack=spec.frame_stack,
        n_step=config.n_step,
        gamma=config.gamma,
        alpha=config.priority_alpha,
        epsilon=config.priority_epsilon,
    )


def fill(replay: Replay, steps: int, *, episode: int = EPISODE) -> Callable[[], None]:
    """Play made-up episodes of `episode` steps for `steps` agent steps in all; one more each call
    of what is returned."""
    random = np.random.default_rng(0)
    obs = random.integers(0, 256, (16, WORKERS, replay.frame_stack, 84, 84), np.uint8)
    actions, rewards = np.zeros(WORKERS, np.int64), np.ones(WORKERS, np.float32)
    never, count = np.zeros(WORKERS, np.bool_), 0

    def step() -> None:
        nonlocal count
        count += 1
        ended = np.full(WORKERS, count % episode == 0)
        now, following = obs[count % 16], obs[(count + 1) % 16]
        replay.add(now, actions, rewards, ended, never, list(following))

    for _ in range(steps // WORKERS):
        step()
    return step


def resident_bytes() -> int:
    """Memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def tree(seconds: float) -> Row:
    """The sum tree alone: find and set for one batch at 2^20 leaves."""
    leaves, random = SumTree(LEAVES), np.random.default_rng(0)
    leaves.set(np.arange(LEAVES), random.random(LEAVES) + 0.1)

    def draw() -> None:
        found = leaves.find(random.random(BATCH_SIZE) * leaves.total)
        leaves.set(found, random.random(BATCH_SIZE) + 0.1)

    return timed(draw, seconds=seconds, name="find_and_set")


def priorities(seconds: float) -> Row:
    """What prioritising costs at 2^20 leaves: drawing indices and weights, and new priorities.

    The replay has slots of 2 × 2 pixels, so that gathering frames costs next to nothing: it is no
    part of the aim, and `replay` measures it.
    """
    replay = Replay(
        LEAVES, WORKERS, frame_shape=(1, 2, 2), frame_stack=4, n_step=3, gamma=0.99, alpha=0.5
    )
    random = np.random.default_rng(0)
    replay.tree.set(np.arange(LEAVES), random.random(LEAVES) + 0.1)
    losses = random.random(BATCH_SIZE).astype(np.float32)

    def draw() -> None:
        batch = replay.sample(BATCH_SIZE, beta=0.4, rng=random)
        replay.update_priorities(batch.indices, losses)

    return timed(draw, seconds=seconds, name="sample_and_update")


def replay_whole(seconds: float) -> Row:
    """Whole batches with their frames from 100,000 slots in use, and what a transition takes."""
    before = resident_bytes()
    config = shared_config("contest", "fp32", 1)
    replay = make_replay(config, FILL)
    add = fill(replay, FILL + 2 * WORKERS * EPISODE)
    held, drawable = resident_bytes() - before, np.count_nonzero(replay.tree.leaves)
    random, losses = np.random.default_rng(0), np.ones(BATCH_SIZE, np.float32)

    def draw() -> None:
        batch = replay.sample(BATCH_SIZE, beta=0.4, rng=random)
        replay.update_priorities(batch.indices, losses)

    return {
        **timed(draw, seconds=seconds / 2, name="sample_and_update"),
        **timed(add, seconds=seconds / 2, name="add_8"),
        "bytes_per_transition": held / drawable,
    }


def learner(seconds: float, *, precision: str, threads: int) -> Row:
    """Updates alone, on one batch, and acting for eight observations."""
    config = shared_config("contest", precision, threads)
    device = prepare_device("cpu", threads=threads)
    seed_everything(0)
    replay = make_replay(config, 4_000)
    fill(replay, 3_200)
    batch = replay.sample(BATCH_SIZE, beta=0.4, rng=np.random.default_rng(0))
    net = make_net(config).to(device)
    agent, updates = RainbowAgent(net, config), Learner(net, config, device=device)
    obs = np.random.default_rng(0).integers(0, 256, (WORKERS, 4, 84, 84), np.uint8)
    row = timed(lambda: updates.update(batch), seconds=seconds, name="update")
    row["updates_per_second"] = 1000.0 / row["update_ms"]
    return {**row, **timed(lambda: agent.act(obs, explore=True), seconds=seconds / 4, name="act_8")}


def make_envs() -> RetroVectorEnv:
    """Eight workers on the level that every agent plays."""
    return make_vec([Level(*LEVEL)], num_envs=WORKERS, config=EnvConfig(), seed=0)


def cpu_seconds(pids: list[int]) -> float:
    """CPU time that processes have used."""
    read = (Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii") for pid in pids)
    return sum(int(text.split()[0]) for text in read) * 1e-9


def env_only(seconds: float) -> Row:
    """Eight workers with random actions: agent steps per second, CPU time of a vector step."""
    envs = make_envs()
    try:
        envs.reset(seed=0)
        random = np.random.default_rng(0)
        timed(lambda: envs.step(random.integers(0, 7, WORKERS)), seconds=0.5, name="warm_up")
        steps, cpu, start = 0, cpu_seconds(envs.workers), time.process_time()
        clock = time.perf_counter()
        while time.perf_counter() - clock < seconds:
            envs.step(random.integers(0, 7, WORKERS))
            steps += 1
        wall, main = time.perf_counter() - clock, time.process_time() - start
        workers = cpu_seconds(envs.workers) - cpu
    finally:
        envs.close()
    return {
        "steps_per_second": steps * WORKERS / wall,
        "workers_cpu_ms": 1000.0 * workers / steps,
        "main_cpu_ms": 1000.0 * main / steps,
    }


class TimeOver(Exception):  # noqa: N818 - it is no error
    """Ends a run without its last checkpoint."""


def end_to_end(seconds: float, *, preset: str, precision: str, threads: int) -> Row:
    """`rainbow.train.run` as it is, timed from a while after its first update."""
    config = shared_config(preset, precision, threads)
    envs, stopwatch = make_envs(), Stopwatch(seconds)
    wait = envs.step_wait

    def step_wait(part: slice | None = None) -> Any:
        if stopwatch.tick():
            raise TimeOver
        return wait(part)

    envs.step_wait = step_wait  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(TimeOver):
            run(envs, config, Path(folder) / "run")
    finally:
        envs.close()
    return stopwatch.result()
