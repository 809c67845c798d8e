"""CPU time of PPO2 beside CleanRL's ppo_procgen.py: coinrun, 64 environments, one thread.

python -m benchmarks.cleanrl --cleanrl FOLDER

FOLDER is a checkout of vwxyzjn/cleanrl, whose script runs as it is. Cases: benchmarks/cases.md.
"""

import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks import cases
from benchmarks.cases import Options, Repeat, Row, Rows
from benchmarks.peers.environments import peer_python
from experiment.errors import UserError, command
from experiment.results import ROOT

PRECISIONS, SUFFIX = cases.precisions()
AIMS = {"fp32": 1.4, "bf16": 2.5}
CASES = ["cleanrl", *(f"ppo2-{precision}" for precision in PRECISIONS)]
ENVS, ROLLOUT_STEPS = 64, 32
ROWS = ENVS * ROLLOUT_STEPS
"""Steps of a rollout, learned from in one minibatch: as many rows as each of the presets' eight."""
FEW, MANY = 1, 3
"""Rollouts of the two runs whose difference counts: what only a start takes is in both."""


def line(case: str, rollouts: int, folder: str, options: Options) -> list[str]:
    """The command of a case that plays and learns from so many rollouts."""
    if case == "cleanrl":
        script = options.cleanrl and options.cleanrl / "cleanrl" / "ppo_procgen.py"
        if not script or not script.is_file():
            raise UserError("--cleanrl: give a folder with a checkout of vwxyzjn/cleanrl")
        return [
            *(str(peer_python("cleanrl")), str(script.resolve()), "--no-cuda"),
            *("--env-id", "coinrun", "--num-envs", str(ENVS), "--num-steps", str(ROLLOUT_STEPS)),
            *("--num-minibatches", "1", "--total-timesteps", str(rollouts * ROWS)),
        ]
    return [
        *(sys.executable, "-m", "ppo2.train", "--preset", "procgen-easy", "--device", "cpu"),
        *("--rollout-steps", str(ROLLOUT_STEPS), "--minibatches", "1", "--torch-threads", "1"),
        *("--timesteps", str(rollouts * ROWS), "--run-dir", f"{folder}/run"),
        *("--precision", case.removeprefix("ppo2-")),
    ]


def cpu_seconds(case: str, rollouts: int, options: Options) -> float:
    """CPU time that a run takes, of all its threads. UserError: it failed."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        one = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        argv = line(case, rollouts, folder, options)
        process = subprocess.Popen(
            argv, cwd=folder, env={**os.environ, **one}, stdout=said, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise UserError(f"case {case} failed: {said.read().decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def measure(wanted: list[str], options: Options) -> Repeat:
    """Each case in turn."""
    found: dict[str, Row] = {}
    for case in wanted:
        few, many = (cpu_seconds(case, rollouts, options) for rollouts in (FEW, MANY))
        found[case] = {"cpu_ms_per_step": 1000.0 * (many - few) / ((MANY - FEW) * ROWS)}
    return found


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case, then ratios within repeats with their aims."""
    rows = cases.median_cases(repeats)
    for precision in PRECISIONS:
        case = f"ppo2-{precision}"
        values = [cases.quotient(repeat, "cleanrl", case, best=min) for repeat in repeats]
        label = {"ratio": f"cleanrl_cpu/{case}_cpu"}
        rows += cases.median_row(label, values, at_least=AIMS[precision])
    return rows


@command
def main() -> None:
    """The command line."""
    options: Any = {"measure": measure, "table": table, "suffix": f"{SUFFIX}"}
    cases.run("cleanrl", __doc__, CASES, **options, repeats=1, cleanrl=None)


if __name__ == "__main__":
    main()
