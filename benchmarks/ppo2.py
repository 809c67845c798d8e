"""Speed of PPO2: the whole beside what its parts allow, and beside Stable-Baselines3's PPO.

`python -m benchmarks.ppo2` prints one JSON line per row: the cases, then ratios with their aims.
Cases run in processes of their own, in turn, several times; ratios are taken within a repeat.
`--write` stores the rows in benchmarks/results/ppo2.json. Needs the `dev` extra.

env              eight workers alone, with random actions
update-*         learning from one rollout alone (act_8: acting for eight observations)
ppo2-*           ppo2.train.run
overlap-*        the same with --overlap
sb3-*            Stable-Baselines3's PPO on this project's environment, in its own workers
sb3_usual-*      the same on the environment that stable-retro's users build by hand

A trailing 1 or 2 is the number of torch's threads. All play the same level with eight workers, the
Nature net, rollouts of 128 steps each, 4 minibatches of 256 and 3 epochs. A ratio takes the faster
number of threads of each, and for `ppo2` the faster precision too; `ppo2_fp32` computes in fp32 as
Stable-Baselines3 does. `*_cpu` compares the CPU time of all processes per agent step, which hardly
depends on what else the machine does.

The bound: an agent step needs the time of one in `env` and that of one in `update`; acting is
left out, as if it were free, because it could overlap with the emulators. With --overlap learning
itself overlaps, so that what is called the bound is none there.
"""

import sys
from typing import Any

from benchmarks import ppo2_parts as parts
from benchmarks.cases import (
    Repeat,
    Row,
    add_choice,
    add_seconds,
    chosen,
    in_own_process,
    make_parser,
    median_cases,
    median_row,
    report,
)
from experiment.errors import command

SETTINGS = [(precision, threads) for precision in ("bf16", "fp32") for threads in (1, 2)]
OVERLAP = ["overlap-bf16-1", "overlap-fp32-1"]
PEERS: dict[str, list[str]] = {"sb3": [], "sb3_usual": ["--usual"]}
"""Name -> further arguments of benchmarks.peers.sb3_ppo."""
CASES = [
    "env",
    *(f"update-{precision}-{threads}" for precision, threads in SETTINGS),
    *(f"ppo2-{precision}-{threads}" for precision, threads in SETTINGS),
    *OVERLAP,
    *(f"{peer}-{threads}" for peer in PEERS for threads in (1, 2)),
]
RATIOS: list[tuple[str, str, str, float | None]] = [
    ("ppo2", "ppo2-", "sb3_usual-", 2.5),
    ("ppo2_fp32", "ppo2-fp32-", "sb3_usual-", None),
    ("ppo2", "ppo2-", "sb3-", None),
    ("ppo2_fp32", "ppo2-fp32-", "sb3-", None),
    ("overlap", "overlap-", "sb3_usual-", None),
    ("overlap_fp32", "overlap-fp32-", "sb3_usual-", None),
    ("overlap", "overlap-", "sb3-", None),
]
"""Name, cases, the cases they are divided by (the fastest of each), and the aim."""
BOUND_AIM = 0.85


def run_here(case: str, seconds: float) -> Row:
    """Measure a case of this project in this process."""
    name, *setting = case.split("-")
    if name == "env":
        return parts.env_only(seconds)
    precision, threads = setting[0], int(setting[1])
    if name == "update":
        return parts.update_only(seconds, precision=precision, threads=threads)
    overlap = name == "overlap"
    return parts.end_to_end(seconds, precision=precision, threads=threads, overlap=overlap)


def command_of(case: str, seconds: float) -> list[str]:
    """The command that measures a case and prints its row last."""
    name, *setting = case.split("-")
    here = [sys.executable, "-m"]
    if name not in PEERS:
        return [*here, "benchmarks.ppo2", "--case", case, "--seconds", str(seconds)]
    peer = [*here, "benchmarks.peers.sb3_ppo", "--seconds", str(seconds)]
    return [*peer, "--threads", setting[0], *PEERS[name]]


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


def of_bound(repeat: Repeat, case: str) -> float | None:
    """The whole over what its parts allow."""
    _, _, setting = case.partition("-")
    if not {"env", f"update-{setting}", case} <= repeat.keys():
        return None
    return repeat[case]["steps_per_second"] / bound(repeat, setting)


def table(repeats: list[Repeat]) -> list[dict[str, Any]]:
    """Medians per case, then ratios within repeats with their aims."""
    rows = median_cases(repeats)
    for name, above, below, aim in RATIOS:
        peer = below.rstrip("-")
        by_clock = [quotient(r, above, below) for r in repeats]
        rows += median_row({"ratio": f"{name}/{peer}"}, by_clock, at_least=aim)
        by_cpu = [quotient(r, above, below, cpu=True) for r in repeats]
        rows += median_row({"ratio": f"{name}_cpu/{peer}_cpu"}, by_cpu)
    for case in (case for case in CASES if case.startswith(("ppo2-", "overlap-"))):
        values = [of_bound(repeat, case) for repeat in repeats]
        aim = None if case in OVERLAP else BOUND_AIM
        rows += median_row({"ratio": f"{case}/bound"}, values, at_least=aim)
    return rows


@command
def main() -> None:
    """The command line."""
    parser = make_parser("ppo2", __doc__)
    add_choice(parser, CASES)
    add_seconds(parser)
    options = parser.parse_args()
    if options.case:
        if options.case.split("-")[0] in PEERS:
            parser.error(f"{options.case} is measured by benchmarks.peers.sb3_ppo; use --only")
        parts.report(run_here(options.case, options.seconds))
        return
    cases = chosen(CASES, options)
    repeats = [
        {case: in_own_process(case, command_of(case, options.seconds)) for case in cases}
        for _ in range(options.repeats)
    ]
    report("ppo2", table(repeats), write=options.write)


if __name__ == "__main__":
    main()
