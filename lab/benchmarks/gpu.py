"""Speed of PPO2 where a GPU learns: whole cycles, and their parts alone, with and without graphs.

python -m lab.benchmarks.gpu --out FILE [--cases small,procgen] [--seconds 8] [FLAG VALUE ...]

Further flags are `ppo2.train`'s. small, nature and impala play BrambleDash natively in 84x84 grey;
procgen is the competition's preset: -halves has two groups of environments, -480 has 480 of them.
"""

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ppo2.train import make_envs, parse
from ppo2.training import Training
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.results import write_result

BRAMBLE = [
    *("--preset", "pretrain", "--levels", "bramble-train", "--precision", "bf16"),
    *("--num-envs", "1024", "--rollout-steps", "64", "--minibatches", "8"),
]
PROCGEN = ["--preset", "procgen-competition", "--precision", "bf16", "--env-threads", "16"]
CASES = {
    "small": BRAMBLE,
    "nature": [*BRAMBLE, "--widths", "32,64,64", "--hidden", "512"],
    "impala": [*BRAMBLE, "--encoder", "impala", "--widths", "16,32,32", "--hidden", "256"],
    "procgen": PROCGEN,
    "procgen-halves": [*PROCGEN, "--act-parts", "2"],
    "procgen-480": [*PROCGEN, "--num-envs", "480", "--rollout-steps", "20", "--act-parts", "2"],
}
GRAPHS = {"plain": ["--no-cuda-graphs"], "graphs": [], "compiled": ["--compile"]}


def seconds_of(work: Callable[[], Any]) -> float:
    """Time until the device has done it."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def measure(flags: list[str], *, seconds: float, run_dir: str) -> dict[str, float]:
    """Agent steps per second of whole cycles, of their two halves, and of acting and of the game
    alone: medians over cycles."""
    own = ["--device", "cuda", "--timesteps", "1000000000", "--run-dir", run_dir]
    config = parse([*flags, *own])
    training = Training(config, config.run.num_envs)
    collector, random = training.collector, np.random.default_rng(0)
    spans: list[list[float]] = []
    torch.cuda.reset_peak_memory_stats()
    with closing(make_envs(config)) as envs:
        seen = training.start(None, envs)

        def play() -> None:
            nonlocal seen
            seen = collector.play(envs, seen)
            collector.ended_episodes()

        def act() -> None:
            with training.agent.autocast():
                for part in collector.parts * 8:
                    collector.act(seen[part], part)

        def step() -> None:
            for _ in range(8):
                envs.step(random.integers(0, 7, envs.num_envs))

        begin = time.perf_counter()
        while len(spans) < 6 or time.perf_counter() - begin < seconds:
            spans.append([seconds_of(play), seconds_of(lambda: training.learn(seen))])
            spans[-1] += [seconds_of(act), seconds_of(step)]
    playing, learning, acting, stepping = np.median(np.array(spans[3:]), axis=0).tolist()
    steps, each = collector.steps_per_rollout, 8 * config.run.num_envs
    return {
        "steps_per_second": steps / (playing + learning),
        "play_steps_per_second": steps / playing,
        "learn_steps_per_second": steps / learning,
        "act_steps_per_second": each / acting,
        "env_steps_per_second": each / stepping,
        "first_cycle_seconds": sum(spans[0]),
        "memory_gb": torch.cuda.max_memory_allocated() / 2**30,
    }


@command
def main() -> None:
    """Measure the cases, print a table and write a file."""
    parser = Parser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--kinds", default=",".join(GRAPHS))
    parser.add_argument("--seconds", type=float, default=8.0)
    options, flags = parser.parse_known_args()
    for name, words, known in (("cases", options.cases, CASES), ("kinds", options.kinds, GRAPHS)):
        if strange := [word for word in words.split(",") if word not in known]:
            raise UserError(f"--{name} {strange[0]}: expected some of {', '.join(known)}")
    rows: list[dict[str, Any]] = []
    for case in options.cases.split(","):
        for kind in options.kinds.split(","):
            with tempfile.TemporaryDirectory() as folder:
                own = [*CASES[case], *GRAPHS[kind], *flags]
                found = measure(own, seconds=options.seconds, run_dir=folder)
            rounded = {name: round(value, 1) for name, value in found.items()}
            row = {"case": f"{case}-{kind}", "gpu": torch.cuda.get_device_name(), **rounded}
            print(json.dumps(row), flush=True)
            rows.append(row)
            write_result(options.out, {"rows": rows}, module="lab.benchmarks.gpu")


if __name__ == "__main__":
    main()
