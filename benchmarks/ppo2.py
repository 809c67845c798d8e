"""Speed of PPO2: the whole beside what its parts allow, and beside Stable-Baselines3's PPO.

`python -m benchmarks.ppo2` prints one JSON line per row: the cases, then ratios with their aims.
Cases run in processes of their own, in turn, several times; ratios are taken within a repeat.
`--write` stores the rows in benchmarks/results/ppo2.json. Needs the `dev` extra.

env              eight workers alone, with random actions
update-*         learning from one rollout alone (act_8: acting for eight observations)
ppo2-*           ppo2.train.run
sb3-*            Stable-Baselines3's PPO on this project's environment, in its own workers
sb3_usual-*      the same on the environment that stable-retro's users build by hand

A trailing 1 or 2 is the number of torch's threads. All play the same level with eight workers, the
Nature net, rollouts of 128 steps each, 4 minibatches of 256 and 3 epochs. A ratio takes the faster
number of threads of each, and for `ppo2` the faster precision too; `ppo2_fp32` computes in fp32 as
Stable-Baselines3 does. `*_cpu` compares the CPU time of all processes per agent step, which hardly
depends on what else the machine does.

The bound: an agent step needs the time of one in `env` and that of one in `update`; acting is
left out, as if it were free, because it could overlap with the emulators.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from functools import partial
from typing import Any

from benchmarks import ppo2_parts as parts
from benchmarks.machine import write_result
from benchmarks.peers.environments import ROOT
from experiment.errors import UserError, command

Row = dict[str, float]
Repeat = dict[str, Row]
SETTINGS = [(precision, threads) for precision in ("bf16", "fp32") for threads in (1, 2)]
PEERS: dict[str, list[str]] = {"sb3": [], "sb3_usual": ["--usual"]}
"""Name -> further arguments of benchmarks.peers.sb3_ppo."""
CASES = [
    "env",
    *(f"update-{precision}-{threads}" for precision, threads in SETTINGS),
    *(f"ppo2-{precision}-{threads}" for precision, threads in SETTINGS),
    *(f"{peer}-{threads}" for peer in PEERS for threads in (1, 2)),
]
RATIOS: list[tuple[str, str, str, float | None]] = [
    ("ppo2", "ppo2-", "sb3_usual-", 2.5),
    ("ppo2_fp32", "ppo2-fp32-", "sb3_usual-", None),
    ("ppo2", "ppo2-", "sb3-", None),
    ("ppo2_fp32", "ppo2-fp32-", "sb3-", None),
]
"""Name, cases, the cases they are divided by (the fastest of each), and the aim."""
BOUND_AIM = 0.85


def run_here(case: str, seconds: float) -> Row:
    """Measure a case of this project in this process."""
    name, *setting = case.split("-")
    if name == "env":
        return parts.env_only(seconds)
    measure = parts.update_only if name == "update" else parts.end_to_end
    return measure(seconds, precision=setting[0], threads=int(setting[1]))


def command_of(case: str, seconds: float) -> list[str]:
    """The command that measures a case and prints its row last."""
    name, *setting = case.split("-")
    here = [sys.executable, "-m"]
    if name not in PEERS:
        return [*here, "benchmarks.ppo2", "--case", case, "--seconds", str(seconds)]
    peer = [*here, "benchmarks.peers.sb3_ppo", "--seconds", str(seconds)]
    return [*peer, "--threads", setting[0], *PEERS[name]]


def measure(case: str, seconds: float) -> Row:
    """A case in a process of its own. UserError: it failed."""
    done = subprocess.run(
        command_of(case, seconds),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode:
        raise UserError(f"case {case} failed: {done.stderr.strip()[-2000:]}")
    return {name: float(value) for name, value in json.loads(done.stdout.splitlines()[-1]).items()}


def bound(repeat: Repeat, setting: str) -> float:
    """Agent steps per second that the parts allow; see the module's text."""
    rates = (repeat[case]["steps_per_second"] for case in ("env", f"update-{setting}"))
    return 1.0 / sum(1.0 / rate for rate in rates)


def quotient(repeat: Repeat, above: str, below: str, *, cpu: bool = False) -> float | None:
    """The fastest of one over the fastest of the other; None where one was not measured.

    cpu: the least CPU time of the other over the least of the one.
    """

    def values(prefix: str, name: str) -> list[float]:
        return [row[name] for case, row in repeat.items() if case.startswith(prefix)]

    if not values(above, "steps_per_second") or not values(below, "steps_per_second"):
        return None
    if cpu:
        return min(values(below, "cpu_ms_per_step")) / min(values(above, "cpu_ms_per_step"))
    return max(values(above, "steps_per_second")) / max(values(below, "steps_per_second"))


def of_bound(repeat: Repeat, setting: str) -> float | None:
    """The whole over what its parts allow."""
    if not {"env", f"update-{setting}", f"ppo2-{setting}"} <= repeat.keys():
        return None
    return repeat[f"ppo2-{setting}"]["steps_per_second"] / bound(repeat, setting)


def median_row(name: str, values: list[float | None], aim: float | None) -> list[dict[str, Any]]:
    """One row, or none where nothing was measured."""
    found = [round(value, 3) for value in values if value is not None]
    if not found:
        return []
    row = {"ratio": name, "value": statistics.median(found), "all": found}
    return [row if aim is None else {**row, "at_least": aim}]


def table(repeats: list[Repeat]) -> list[dict[str, Any]]:
    """Medians per case, then ratios within repeats with their aims."""
    rows: list[dict[str, Any]] = []
    for case in repeats[0]:
        found = {key: [repeat[case][key] for repeat in repeats] for key in repeats[0][case]}
        medians = {key: round(statistics.median(values), 4) for key, values in found.items()}
        rows.append({"case": case, **medians})
    for name, above, below, aim in RATIOS:
        peer = below.rstrip("-")
        rows += median_row(f"{name}/{peer}", [quotient(r, above, below) for r in repeats], aim)
        by_cpu = [quotient(r, above, below, cpu=True) for r in repeats]
        rows += median_row(f"{name}_cpu/{peer}_cpu", by_cpu, None)
    for setting in (f"{precision}-{threads}" for precision, threads in SETTINGS):
        values = [of_bound(repeat, setting) for repeat in repeats]
        rows += median_row(f"ppo2-{setting}/bound", values, BOUND_AIM)
    return rows


@command
def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ppo2",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", choices=CASES, help="measure one case, in this process")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="cases that begin with one of these"
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="per case (default: 15)")
    parser.add_argument("--repeats", type=int, default=3, help="of all cases (default: 3)")
    parser.add_argument("--write", action="store_true", help="store in results/ppo2.json")
    options = parser.parse_args()
    if options.case:
        if options.case.split("-")[0] in PEERS:
            parser.error(f"{options.case} is measured by benchmarks.peers.sb3_ppo; use --only")
        parts.report(run_here(options.case, options.seconds))
        return
    cases = [case for case in CASES if case.startswith(tuple(options.only))]
    timed = partial(measure, seconds=options.seconds)
    rows = table([{case: timed(case) for case in cases} for _ in range(options.repeats)])
    for row in rows:
        print(json.dumps(row))
    if options.write:
        write_result("ppo2", {"rows": rows})


if __name__ == "__main__":
    main()
