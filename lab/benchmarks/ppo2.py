"""Speed of PPO2: the whole relative to its parts, and to Stable-Baselines3's PPO.

Cases, aims and the bound: docs/contribute/benchmarks.md.
"""

import contextlib
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Row, Rows
from lab.benchmarks.parts import cpu_with, env_only, make_envs, preset_config, run_until
from lab.benchmarks.peers.stopwatch import WORKERS, Stopwatch
from ppo2.config import PPO2Config
from ppo2.train import parse, run
from ppo2.training import Training
from retro_agents.games.retro.config import EnvConfig
from retro_agents.run.run import Run

PRECISIONS, SUFFIX = cases.precisions()
SETTINGS = [f"{precision}-{threads}" for precision in PRECISIONS for threads in cases.THREADS]
PEERS = {"sb3": ("", "sb3_ppo", list[str]()), "sb3_usual": ("", "sb3_ppo", ["--usual"])}
CASES = [
    "env",
    *(f"{name}-{setting}" for name in ("ppo2", "parts") for setting in SETTINGS),
    *(f"{peer}-{threads}" for peer in PEERS for threads in cases.THREADS),
]
FP32_AIM = 1.7
RATIOS: list[tuple[str, str, float | None]] = [
    ("ppo2-", "sb3_usual-", FP32_AIM if SUFFIX else 2.5),
    ("ppo2-fp32-", "sb3_usual-", FP32_AIM),
    ("ppo2-", "sb3-", None),
    ("ppo2-fp32-", "sb3-", None),
]
"""Cases, the cases in the denominator (the fastest of each), and the aim."""
RATIOS = [ratio for ratio in RATIOS if not (SUFFIX and ratio[0].endswith("-fp32-"))]
BOUND_AIM = 0.85
ROLLOUT_STEPS, MINIBATCHES, EPOCHS = 128, 4, 3
ROWS = WORKERS * ROLLOUT_STEPS


class Cycles(Stopwatch):
    """Times whole cycles of a rollout and learning from it, except the first one: agent steps
    per second, and CPU time per agent step of all processes together."""

    def __init__(self, seconds: float, pids: list[int]) -> None:
        super().__init__(seconds, 2 * ROWS, cpu=cpu_with(pids))

    def mark(self) -> bool:
        """Called at the same place of each cycle; True once two or more have filled the time."""
        return self.tick(ROWS) and self.steps >= self.warm_up + 2 * ROWS


def shared_config(**setting: Any) -> PPO2Config:
    """The published values, with those that every agent in this comparison shares."""
    sizes = {"rollout_steps": ROLLOUT_STEPS, "minibatches": MINIBATCHES, "epochs": EPOCHS}
    config: PPO2Config = preset_config(parse, "published", **setting, **sizes)
    return config


def act_alone(training: Training, obs: NDArray[np.uint8], random: np.random.Generator) -> None:
    """Fill the rollout with the same observations and random rewards, as a run does."""
    never = np.zeros(WORKERS, bool)
    with training.agent.autocast():
        for _, part in itertools.product(range(ROLLOUT_STEPS), training.collector.parts):
            training.collector.act(obs[part], part)
            flags, rewards = never[part], random.normal(size=len(obs[part]))
            training.collector.add((rewards, flags, flags, {}), levels=[""] * len(flags), part=part)


def whole_and_parts(seconds: float, **setting: Any) -> Row:
    """Cycles of `ppo2.train`, after each of which its parts run alone: the emulators with random
    actions, acting for eight observations without emulators, learning.

    of_bound is measured within a cycle, so that most of the machine's other load cancels. All are
    medians over cycles, except the first one.
    """
    config = shared_config(**setting)
    envs = make_envs(config.env)
    training, random = Training(config, WORKERS), np.random.default_rng(0)
    cycles: list[NDArray[np.float64]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(envs),
        Run(training, envs, Path(folder) / "run") as run,
    ):
        obs = run.obs
        begin = time.perf_counter()
        while len(cycles) < 3 or time.perf_counter() - begin < seconds:
            marks = [time.perf_counter()]
            obs = training.collector.play(envs, obs, on_step=run.show)
            run.after(training.collector.ended_episodes(), training.learn(obs))
            marks.append(time.perf_counter())
            for _ in range(ROLLOUT_STEPS):
                obs, *_ = envs.step(random.integers(0, 7, WORKERS))
            marks.append(time.perf_counter())
            act_alone(training, obs, random)
            marks.append(time.perf_counter())
            training.learn(obs)
            marks.append(time.perf_counter())
            cycles.append(np.diff(marks))
    spans = np.array(cycles[1:])
    whole, env, act, update = np.median(spans, axis=0).tolist()
    return {
        "steps_per_second": ROWS / whole,
        "env_steps_per_second": ROWS / env,
        "update_steps_per_second": ROWS / update,
        "act_8_ms": 1000.0 * act / ROLLOUT_STEPS,
        "of_bound": float(np.median((spans[:, 1] + spans[:, 3]) / spans[:, 0])),
    }


def end_to_end(seconds: float, **setting: Any) -> Row:
    """`ppo2.train.run` as it is."""
    config = shared_config(**setting)
    envs = make_envs(config.env)
    cycles = Cycles(seconds, envs.workers)
    run_until(lambda steps: steps % ROWS == 0 and cycles.mark(), run, envs, config)
    return cycles.result()


def run_here(case: str, options: Options) -> Row:
    if case == "env":
        return env_only(options.seconds, make_envs(EnvConfig(backend=options.backend)))
    name, setting = cases.setting_of(case, options)
    return (whole_and_parts if name == "parts" else end_to_end)(options.seconds, **setting)


def table(repeats: list[Repeat], options: Options) -> Rows:
    rows = [*cases.median_cases(repeats), *cases.ratio_rows(repeats, RATIOS)]
    rows += cases.ratio_rows(repeats, [(ours, peer, None) for ours, peer, _ in RATIOS], cpu=True)
    for setting in SETTINGS:
        values = [repeat.get(f"parts-{setting}", {}).get("of_bound") for repeat in repeats]
        rows += cases.median_row({"ratio": f"ppo2-{setting}/bound"}, values, at_least=BOUND_AIM)
    return rows


more: Any = {"suffix": SUFFIX, "seconds": 15.0, "backend": cases.BACKENDS}
peers = cases.peer_commands(PEERS)
main = cases.benchmark("ppo2", __doc__, CASES, here=run_here, peers=peers, table=table, **more)

if __name__ == "__main__":
    main()
