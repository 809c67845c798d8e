"""How much of the emulators' speed does JERK leave, and what does each part of the hybrid cost?

python -m benchmarks.jerk            # --write stores the rows in benchmarks/results/jerk.json

baseline-N, mutating-N   jerk.train.run with N emulators, then the same actions with the same seed
                         on the same environments without JERK: the same frames, so the ratio is
                         JERK's own cost. of_cpu: the ratio of CPU times per step (this process and
                         the workers), which hardly depends on what else the machine does
parts                    the hybrid's cost by part, in milliseconds per call, on one observation
                         where it says nothing else; with the hybrid preset's sizes

Cases run in processes of their own, in turn, several times; rows hold medians.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks import cases
from benchmarks.cases import Options, Repeat, Row, Rows, median_cases
from benchmarks.parts import cpu_seconds, make_envs, preset_config, timed
from experience.episodes import Episode
from experiment.errors import UserError, command
from jerk.config import JerkConfig
from jerk.learner import Learner, locate
from jerk.memory import sample
from jerk.policy import Embedder, FreshPolicy
from jerk.train import parse, run
from lsh_memory import EpisodicMemory, MemoryConfig

CASES = ["baseline-1", "mutating-1", "baseline-4", "mutating-4", "parts"]
AIM = 0.9
WARM_UP = 200
"""Vector steps before the clock starts."""
ENTRIES = 20_000
"""Steps in the memory when it is asked."""


class Clock:
    """Wall and CPU seconds of this process and its workers, from the warm-up to the last step."""

    def __init__(self, envs: Any) -> None:
        self.envs = envs
        self.times: list[tuple[float, float]] = []

    def tick(self) -> None:
        """Now; only the first and the last count."""
        cpu = time.process_time() + cpu_seconds(self.envs.workers)
        self.times = [*self.times[:1], (time.perf_counter(), cpu)]

    def passed(self) -> tuple[float, float]:
        """(wall, CPU) seconds."""
        (wall, cpu), (wall_end, cpu_end) = self.times
        return wall_end - wall, cpu_end - cpu


def make_config(preset: str, num_envs: int, steps: int) -> JerkConfig:
    """A preset for one level, without checkpoints on the way."""
    return cast(JerkConfig, preset_config(parse, preset, num_envs=num_envs, timesteps=steps))


def searched(config: JerkConfig) -> tuple[list[NDArray[np.int64]], tuple[float, float]]:
    """A whole run -> its actions, and what it took."""
    envs = make_envs(config.env, config.run.num_envs)
    clock = Clock(envs)
    played: list[NDArray[np.int64]] = []
    begin, wait = envs.step_async, envs.step_wait

    def step_async(actions: NDArray[np.int64]) -> None:
        if len(played) == WARM_UP:
            clock.tick()
        played.append(actions.copy())
        begin(actions)

    def step_wait() -> Any:
        result = wait()
        if len(played) * config.run.num_envs >= config.run.timesteps:
            clock.tick()
        return result

    spied: Any = envs
    spied.step_async, spied.step_wait = step_async, step_wait
    try:
        with tempfile.TemporaryDirectory() as folder:
            run(envs, config, Path(folder) / "run")
    finally:
        envs.close()
    return played, clock.passed()


def env_only(config: JerkConfig, actions: list[NDArray[np.int64]]) -> tuple[float, float]:
    """The same actions without JERK -> what they took."""
    envs = make_envs(config.env, config.run.num_envs)
    clock = Clock(envs)
    try:
        envs.reset(seed=config.run.seed)
        for number, action in enumerate(actions):
            if number == WARM_UP:
                clock.tick()
            envs.step(action)
        clock.tick()
    finally:
        envs.close()
    return clock.passed()


def whole(preset: str, num_envs: int, steps: int) -> Row:
    """A run beside its own actions. UserError: too few steps to measure anything."""
    least = WARM_UP * num_envs
    if steps <= least:
        raise UserError(f"--steps must be above {least}, the warm-up, not {steps}")
    config = make_config(preset, num_envs, steps)
    actions, (wall, cpu) = searched(config)
    bare_wall, bare_cpu = env_only(config, actions)
    steps -= WARM_UP * num_envs
    return {
        "steps_per_second": steps / wall,
        "env_only_steps_per_second": steps / bare_wall,
        "cpu_ms_per_step": 1000.0 * cpu / steps,
        "env_only_cpu_ms_per_step": 1000.0 * bare_cpu / steps,
        "of_env_only": bare_wall / wall,
        "of_cpu": bare_cpu / cpu,
    }


def observations(config: JerkConfig, count: int) -> NDArray[np.uint8]:
    """[count,C,H,W] of running and jumping."""
    envs = make_envs(config.env, config.run.num_envs)
    rng = np.random.default_rng(0)
    try:
        obs, _ = envs.reset(seed=0)
        seen = [obs[0]]
        while len(seen) < count:
            obs, *_ = envs.step(rng.choice([1, 1, 1, 6], config.run.num_envs))
            seen.append(obs[0])
    finally:
        envs.close()
    return np.stack(seen)


def parts(steps: int) -> Row:
    """The hybrid's calls, one by one."""
    config = make_config("hybrid", 1, steps)
    obs, spec = observations(config, 600), config.env.spec()
    policy = FreshPolicy(config)
    by_frames = Embedder(None, config=config, device="cpu")
    encoder: Any = policy.net.encoder
    by_policy = Embedder(encoder, config=config, device="cpu")
    rows = by_frames(obs)
    memory = EpisodicMemory(MemoryConfig(config.embedding, actions=spec.actions))
    rng = np.random.default_rng(0)
    noisy = rows[rng.integers(0, len(rows), ENTRIES)]
    noisy = noisy + 0.03 * rng.standard_normal(noisy.shape).astype(np.float32)
    memory.add_batch(noisy, rng.integers(0, spec.actions, ENTRIES), rng.random(ENTRIES))
    best = Episode(
        "level", np.zeros(599, np.uint8), np.ones(599), False, spec.action_names, 4, obs[:, -1:]
    )
    learner = Learner(policy, config, device="cpu")
    places = rows.astype(np.float16)
    draw = partial(sample, [(best, 599.0)], config.batch_size, rng, frame_stack=spec.frame_stack)
    calls: dict[str, Callable[[], Any]] = {
        "embed_frames": lambda: by_frames(obs[:1]),
        "embed_policy": lambda: by_policy(obs[:1]),
        "locate": lambda: locate(places, rows[300], expected=303, window=8, limit=1.0),
        "memory_ask": lambda: memory.action_values_batch(rows[:1], config.memory_neighbours),
        "memory_add": lambda: memory.add(rng.standard_normal(config.embedding), 1, 1.0),
        "policy_act": lambda: policy.act(obs[:1], explore=True),
        "learn_batch": lambda: learner.update(*draw()),
    }
    measured: Row = {}
    for name, call in calls.items():
        measured |= timed(call, seconds=min(2.0, steps / 3000), name=name)
    return measured


def run_here(case: str, options: Options) -> Row:
    """Measure a case in this process."""
    if case == "parts":
        return parts(options.steps)
    preset, num_envs = case.split("-")
    return whole(preset, int(num_envs), options.steps)


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case; the aim beside the ratios."""
    rows = median_cases(repeats)
    return [{**row, "at_least": AIM} if "of_cpu" in row else row for row in rows]


@command
def main() -> None:
    """The command line."""
    one = {"OMP_NUM_THREADS": "1"}
    cases.run("jerk", __doc__, CASES, here=run_here, table=table, environment=one, steps=6000)


if __name__ == "__main__":
    main()
