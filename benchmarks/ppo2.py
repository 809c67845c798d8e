"""Speed of PPO2: the whole beside what its parts allow, and beside Stable-Baselines3's PPO.

`python -m benchmarks.ppo2` prints one JSON line per row: the cases, then ratios with their aims.
Cases run in processes of their own, in turn, several times; ratios are taken within a repeat.
`--write` stores the rows in benchmarks/results/ppo2.json, or ppo2_fp32.json on a CPU that has no
instructions for bf16 and is measured in fp32 alone. Needs the `dev` extra.

env              eight workers alone, with random actions
ppo2-*           ppo2.train.run
parts-*          the same, each cycle followed by its parts alone: emulators, acting for eight
                 observations, learning
sb3-*            Stable-Baselines3's PPO on this project's environment, in its own workers
sb3_usual-*      the same on the environment that stable-retro's users build by hand

A trailing 1 or 2 is the number of torch's threads. All play the same level with eight workers, the
Nature net, rollouts of 128 steps each, 4 minibatches of 256 and 3 epochs. A ratio takes the faster
number of threads of each, and for `ppo2` the faster precision too; `ppo2_fp32` computes in fp32 as
Stable-Baselines3 does. `*_cpu` compares the CPU time of all processes per agent step, which hardly
depends on what else the machine does.

The bound: an agent step needs the time of one of the emulators alone and that of one of learning
alone; acting is left out, as if it were free, because it could run beside the emulators. It is
measured in `parts`, beside the whole in every cycle.
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
    precisions,
    report,
    suffix_of,
)
from experiment.errors import command

PRECISIONS, THREADS = precisions(), (1, 2)
SUFFIX = suffix_of(PRECISIONS)
SETTINGS = [f"{precision}-{threads}" for precision in PRECISIONS for threads in THREADS]
PEERS: dict[str, list[str]] = {"sb3": [], "sb3_usual": ["--usual"]}
"""Name -> further arguments of benchmarks.peers.sb3_ppo."""
CASES = [
    "env",
    *(f"{name}-{setting}" for name in ("ppo2", "parts") for setting in SETTINGS),
    *(f"{peer}-{threads}" for peer in PEERS for threads in THREADS),
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
    precision, threads = setting[0], int(setting[1])
    if name == "parts":
        return parts.whole_and_parts(seconds, precision=precision, threads=threads)
    return parts.end_to_end(seconds, precision=precision, threads=threads)


def command_of(case: str, seconds: float) -> list[str]:
    """The command that measures a case and prints its row last."""
    name, *setting = case.split("-")
    here = [sys.executable, "-m"]
    if name not in PEERS:
        return [*here, "benchmarks.ppo2", "--case", case, "--seconds", str(seconds)]
    peer = [*here, "benchmarks.peers.sb3_ppo", "--seconds", str(seconds)]
    return [*peer, "--threads", setting[0], *PEERS[name]]


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


def table(repeats: list[Repeat]) -> list[dict[str, Any]]:
    """Medians per case, then ratios within repeats with their aims."""
    rows = median_cases(repeats)
    for name, above, below, aim in RATIOS:
        if name.endswith("_fp32") and len(PRECISIONS) == 1:
            continue  # all is fp32
        peer = below.rstrip("-")
        by_clock = [quotient(r, above, below) for r in repeats]
        rows += median_row({"ratio": f"{name}/{peer}"}, by_clock, at_least=aim)
        by_cpu = [quotient(r, above, below, cpu=True) for r in repeats]
        rows += median_row({"ratio": f"{name}_cpu/{peer}_cpu"}, by_cpu)
    for setting in SETTINGS:
        values = [repeat.get(f"parts-{setting}", {}).get("of_bound") for repeat in repeats]
        rows += median_row({"ratio": f"ppo2-{setting}/bound"}, values, at_least=BOUND_AIM)
    return rows


@command
def main() -> None:
    """The command line."""
    parser = make_parser("ppo2", __doc__, suffix=SUFFIX)
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
    report("ppo2", table(repeats), write=options.write, suffix=SUFFIX)


if __name__ == "__main__":
    main()
