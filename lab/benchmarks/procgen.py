"""CPU time of PPO2 on Procgen beside three other programs: coinrun, 64 environments, one thread.

python -m lab.benchmarks.procgen --cleanrl FOLDER --train-procgen FOLDER

The folders are checkouts of vwxyzjn/cleanrl, whose ppo_procgen.py runs as it is, and of
joonleesky/train-procgen-pytorch. Cases: docs/contribute/benchmarks.md.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Rows, peer_python
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT

PRECISIONS, SUFFIX = cases.precisions()
AIMS: dict[str, dict[str, float | None]] = {
    "cleanrl": {"fp32": 1.4, "bf16": 2.5},
    "train-procgen": {"fp32": 2.5, "bf16": None},
    "sb3": {"fp32": 2.5, "bf16": None},
}
"""Minimum ratio of a peer's CPU time to ours."""
CASES = [*AIMS, *(f"ppo2-{precision}" for precision in PRECISIONS)]
ENVS, ROLLOUT_STEPS = 64, 32
ROWS = ENVS * ROLLOUT_STEPS
"""Steps of a rollout, learned from in one minibatch as large as each of the presets' eight."""
FEW, MANY = 1, 3
"""Rollouts of the two runs whose difference counts, which cancels the time of starting."""


def line(case: str, rollouts: int, folder: str, options: Options) -> list[str]:
    """The command of a case that plays and learns from so many rollouts."""
    if case == "cleanrl":
        script = checkout("--cleanrl", options.cleanrl, "cleanrl/ppo_procgen.py")
        return [
            *(str(peer_python("procgen")), str(script), "--no-cuda"),
            *("--env-id", "coinrun", "--num-envs", str(ENVS), "--num-steps", str(ROLLOUT_STEPS)),
            *("--num-minibatches", "1", "--total-timesteps", str(rollouts * ROWS)),
        ]
    if case == "train-procgen":
        root = checkout("--train-procgen", options.train_procgen, "agents/ppo.py").parents[1]
        script = ROOT / "lab" / "benchmarks" / "peers" / "train_procgen.py"
        sizes = (str(number) for number in (ENVS, ROLLOUT_STEPS, rollouts))
        return [str(peer_python("procgen")), str(script), str(root), *sizes]
    same = [
        *("--preset", "procgen-easy", "--device", "cpu", "--torch-threads", "1"),
        *("--rollout-steps", str(ROLLOUT_STEPS), "--minibatches", "1"),
        *("--timesteps", str(rollouts * ROWS), "--run-dir", f"{folder}/run"),
    ]
    if case == "sb3":  # one minibatch is the rollout; it has orthogonal weights and a constant rate
        theirs = ["--normalise", "minibatch", "--initialisation", "orthogonal"]
        constant = ["--learning-rate-schedule", "constant"]
        return [sys.executable, "-m", "lab.benchmarks.sb3_ppo", *same, *theirs, *constant]
    return [sys.executable, "-m", "ppo2.train", *same, "--precision", case.removeprefix("ppo2-")]


def checkout(flag: str, folder: Path | None, file: str) -> Path:
    """A file of a peer's checkout. Raises UserError if it is missing."""
    if not folder or not (folder / file).is_file():
        raise UserError(f"{flag}: expected the folder of a checkout that has {file}; see --help")
    return (folder / file).resolve()


def cpu_seconds(case: str, rollouts: int, options: Options) -> float:
    """CPU time of all threads of a run. Raises UserError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        argv = line(case, rollouts, folder, options)
        return cases.said_by(case, argv, cwd=folder, OMP_NUM_THREADS="1")[1]


def measure(wanted: list[str], options: Options) -> Repeat:
    found: Repeat = {}
    for case in wanted:
        few, many = (cpu_seconds(case, rollouts, options) for rollouts in (FEW, MANY))
        found[case] = {"cpu_ms_per_step": 1000.0 * (many - few) / ((MANY - FEW) * ROWS)}
    return found


def table(repeats: list[Repeat], options: Options) -> Rows:
    ratios = [
        (f"ppo2-{precision}", peer, aims[precision])
        for peer, aims in AIMS.items()
        for precision in PRECISIONS
    ]
    return [*cases.median_cases(repeats), *cases.ratio_rows(repeats, ratios, cpu=True)]


more: Any = {"repeats": 1, "cleanrl": None, "train_procgen": None}
main = cases.benchmark(
    "procgen", __doc__, CASES, measure=measure, table=table, suffix=SUFFIX, **more
)

if __name__ == "__main__":
    main()
