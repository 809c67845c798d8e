"""Speed of PPO2: the whole beside what its parts allow, and beside Stable-Baselines3's PPO.

`python -m benchmarks.ppo2` prints one JSON line per row: the cases, then ratios with their aims.
Cases run in processes of their own, in turn, several times; ratios are taken within a repeat.
`--write` stores the rows in benchmarks/results/ppo2.json, or ppo2_fp32.json on a CPU that has no
instructions for bf16 and is measured in fp32 alone. Needs the `benchmarks` extra.

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
from functools import partial
from typing import Any

from benchmarks import cases
from benchmarks import ppo2_parts as parts
from benchmarks.cases import Options, Repeat, Row, Rows
from benchmarks.parts import env_only
from experiment.errors import command

(PRECISIONS, SUFFIX), THREADS = cases.precisions(), (1, 2)
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
RATIOS = [ratio for ratio in RATIOS if not (SUFFIX and ratio[0].endswith("_fp32"))]
BOUND_AIM = 0.85


def run_here(case: str, options: Options) -> Row:
    """Measure a case of this project in this process."""
    if case == "env":
        return env_only(options.seconds)
    name, precision, threads = case.split("-")
    measure = parts.whole_and_parts if name == "parts" else parts.end_to_end
    return measure(options.seconds, precision=precision, threads=int(threads))


def peer_command(name: str, threads: int, options: Options) -> list[str]:
    """The command that measures a peer and prints its row last."""
    peer = [sys.executable, "-m", "benchmarks.peers.sb3_ppo", "--threads", str(threads)]
    return [*peer, "--seconds", str(options.seconds), *PEERS[name]]


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case, then ratios within repeats with their aims."""
    rows = [*cases.median_cases(repeats), *cases.ratio_rows(repeats, RATIOS)]
    for name, above, below, _ in RATIOS:
        by_cpu = [cases.quotient(r, below, above, "cpu_ms_per_step", best=min) for r in repeats]
        rows += cases.median_row({"ratio": f"{name}_cpu/{below.rstrip('-')}_cpu"}, by_cpu)
    for setting in SETTINGS:
        values = [repeat.get(f"parts-{setting}", {}).get("of_bound") for repeat in repeats]
        rows += cases.median_row({"ratio": f"ppo2-{setting}/bound"}, values, at_least=BOUND_AIM)
    return rows


@command
def main() -> None:
    """The command line."""
    peers = {f"{n}-{t}": partial(peer_command, n, t) for n in PEERS for t in THREADS}
    options: Any = {"here": run_here, "peers": peers, "table": table, "suffix": SUFFIX}
    cases.run("ppo2", __doc__, CASES, **options, seconds=15.0)


if __name__ == "__main__":
    main()
