"""JERK's speed relative to the emulators' alone, and the cost of each of its parts.

Cases and aims: docs/contribute/benchmarks.md.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from jerk.config import JerkConfig
from jerk.embedding import EMBEDDING, FrameEmbedder
from jerk.policy import taken_policy
from jerk.train import parse, run
from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Row, Rows, median_cases
from lab.benchmarks.parts import cpu_with, make_envs, preset_config, timed
from lsh_memory import EpisodicMemory, MemoryConfig
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint

CASES = ["baseline-1", "mutating-1", "baseline-4", "mutating-4", "parts"]
AIM = 0.9
WARM_UP = 200
"""Vector steps before the clock starts."""
ENTRIES = 20_000
"""Number of steps in the memory when it is queried."""
Actions = NDArray[Any]


def make_config(preset: str, num_envs: int, options: Options) -> JerkConfig:
    """A preset for one level, without intermediate checkpoints."""
    flags = {"num_envs": num_envs, "timesteps": options.steps, "backend": options.backend}
    return cast(JerkConfig, preset_config(parse, preset, **flags))


def spied(config: JerkConfig, play: Callable[[Any], Any]) -> tuple[list[Actions], Actions]:
    """Let `play` use a run's environments -> the actions that it gave them, and the wall and CPU
    seconds of this process and its workers, from the warm-up to the run's last step."""
    envs: Any = make_envs(config.env, config.run.num_envs)
    begin, wait, cpu = envs.step_async, envs.step_wait, cpu_with(envs.workers)
    played: list[Actions] = []
    marks: list[NDArray[np.float64]] = []

    def mark() -> None:
        marks.append(np.array([time.perf_counter(), cpu()]))

    def step_async(actions: Actions) -> None:
        if len(played) == WARM_UP:
            mark()
        played.append(actions.copy())
        begin(actions)

    def step_wait() -> Any:
        result = wait()
        if len(played) * config.run.num_envs >= config.run.timesteps:
            mark()
        return result

    envs.step_async, envs.step_wait = step_async, step_wait
    with closing(envs):
        play(envs)
    return played, marks[-1] - marks[0]


def whole(preset: str, num_envs: int, options: Options) -> Row:
    """A run relative to replaying its actions. Raises UserError if there are too few steps."""
    least, steps = WARM_UP * num_envs, options.steps
    if steps <= least:
        raise UserError(f"--steps must be above {least}, the warm-up, not {steps}")
    config = make_config(preset, num_envs, options)

    def again(envs: Any) -> None:
        envs.reset(seed=config.run.seed)
        for action in actions:
            envs.step_async(action)
            envs.step_wait()

    with tempfile.TemporaryDirectory() as folder:
        actions, (wall, cpu) = spied(config, lambda envs: run(envs, config, Path(folder) / "run"))
    _, (bare_wall, bare_cpu) = spied(config, again)
    steps -= least
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
    with closing(envs):
        seen = [envs.reset(seed=0)[0][0]]
        while len(seen) < count:
            seen.append(envs.step(rng.choice([1, 1, 1, 6], config.run.num_envs))[0][0])
    return np.stack(seen)


def parts(options: Options) -> Row:
    """The optional parts of a search, call by call, and the hybrid's policy."""
    config = make_config("hybrid", 1, options)
    obs, spec = observations(config, 600), config.env.spec()
    policy = taken_policy(load_checkpoint(config.policy), config, device="cpu").actor
    embed = FrameEmbedder(config)
    rows = embed(obs)
    memory = EpisodicMemory(MemoryConfig(EMBEDDING, actions=spec.actions))
    rng = np.random.default_rng(0)
    noisy = rows[rng.integers(0, len(rows), ENTRIES)]
    noisy = noisy + 0.03 * rng.standard_normal(noisy.shape).astype(np.float32)
    memory.add_batch(noisy, rng.integers(0, spec.actions, ENTRIES), rng.random(ENTRIES))
    calls: dict[str, Callable[[], Any]] = {
        "embed": lambda: embed(obs[:1]),
        "memory_ask": lambda: memory.action_values_batch(rows[:1]),
        "memory_add": lambda: memory.add(rng.standard_normal(EMBEDDING), 1, 1.0),
        "policy_act": lambda: policy.act(obs[:1], play="draw"),
    }
    measured: Row = {}
    for name, call in calls.items():
        measured |= timed(call, seconds=min(2.0, options.steps / 3000), name=name)
    return measured


def run_here(case: str, options: Options) -> Row:
    if case == "parts":
        return parts(options)
    preset, num_envs = case.split("-")
    return whole(preset, int(num_envs), options)


def table(repeats: list[Repeat], options: Options) -> Rows:
    rows = median_cases(repeats)
    return [{**row, "at_least": AIM} if "of_cpu" in row else row for row in rows]


more: Any = {"environment": {"OMP_NUM_THREADS": "1"}, "steps": 6000, "backend": cases.BACKENDS}
main = cases.benchmark("jerk", __doc__, CASES, here=run_here, table=table, **more)

if __name__ == "__main__":
    main()
