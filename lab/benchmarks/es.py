"""Speed of Evolution Strategies: episodes relative to the emulators' limit, updates, many machines.

Cases, aims and the simulation: docs/contribute/benchmarks.md.
"""

import heapq
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Row, Rows
from lab.benchmarks.peers.stopwatch import LEVEL
from retro_agents.ground.errors import UserError
from retro_agents.run.metrics import read_columns

CAP, PAIRS, MEMBER_PAIRS = 150, 1000, 8
"""Agent steps of an episode; pairs of the updates, and of the runs."""
LAYERS = {"head": (3_591, 1), "fc": (1_606_144, 99)}
"""Weights of a Nature net's searched layer, and blocks of noise in them."""
RANKS = (1, 2)
CASES = [
    *(f"{kind}-{n}" for kind in ("env", "ranks") for n in RANKS),
    *(f"update-{name}" for name in LAYERS),
]
AIM = 0.9
LENGTHS = "lengths of episodes"
CLAIM, HOP, BANDWIDTH = 10e-6, 20e-6, 1e9
"""In the simulation: seconds of a claim, seconds of a message, bytes per second."""


def update_only(name: Literal["head", "fc"]) -> Row:
    """The update of a Nature net after PAIRS pairs, in one process."""
    import torch

    from es.agent import ESAgent
    from es.config import ESConfig
    from es.learner import Learner
    from es.memory import Noise
    from es.mpi import World

    torch.set_num_threads(1)
    config = ESConfig(pairs=PAIRS, layer=name)
    theta = ESAgent.start(config).theta
    learner = Learner(theta, config, noise=Noise(0, len(theta)))
    returns, levels = np.random.default_rng(0).random((PAIRS, 2)), np.zeros(PAIRS, int)
    began, cpu = time.perf_counter(), time.process_time()
    learner.update(returns, levels, generation=0, world=World())
    return {
        "weights": learner.noise.size,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
    }


def measured_here(call: str, *, times: int = 1) -> list[Row]:
    """Results of a call in so many parallel processes. Raises UserError if one fails."""
    code = f"import json; from lab.benchmarks import es, parts; print(json.dumps({call}))"
    argv = [sys.executable, "-c", code]
    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(lambda _: cases.in_own_process(call, argv), range(times)))


def ranks(count: int, options: Options, folder: Path) -> Row:
    """A run under mpirun: the sum of its generations except the first."""
    generation = 2 * MEMBER_PAIRS * CAP
    # It needs two generations or more, because the first is left out.
    steps = max(int(options.seconds * 250 * count), generation + 1)
    run = [
        *(str(Path(sys.executable).parent / "mpirun"), "-n", str(count), sys.executable),
        *("es/master.py", "--levels", LEVEL, "--run-dir", str(folder), "--device", "cpu"),
        *("--init", "", "--layer", "head"),
        *("--episode-steps", str(CAP), "--pairs", str(MEMBER_PAIRS), "--timesteps", str(steps)),
        *("--checkpoint-every", "0", "--evaluate-every", "0", "--backend", options.backend),
    ]
    cases.said_by(folder.name, run)
    timing = read_columns(folder / "timing.csv")
    took = np.diff(timing["step"], prepend=0) / timing["steps_per_second"]
    took_all = (took + timing["update_seconds"])[1:].sum()
    played = (took * timing["episodes_per_second"])[1:].sum()
    return {
        "steps_per_second": float((timing["step"][-1] - timing["step"][0]) / took_all),
        "episodes_per_second": float(played / took_all),
        "waiting": float((timing["waiting"] * took)[1:].sum() / took_all),
        "bytes_per_generation_and_rank": float(timing["bytes"][1:].mean()),
        "episodes_per_generation": float(played / (len(took) - 1)),
    }


def run_case(case: str, options: Options, folder: Path) -> Row:
    kind, _, rest = case.partition("-")
    if kind == "env":
        call = f"parts.one_env({options.seconds}, episode_steps={CAP}, backend={options.backend!r})"
        rows = measured_here(call, times=int(rest))
        return {name: sum(row[name] for row in rows) for name in rows[0]}
    if kind == "ranks":
        return ranks(int(rest), options, folder / case)
    return measured_here(f"es.update_only({rest!r})")[0]


def lengths_of(path: Path) -> NDArray[np.float64]:
    """Agent steps of the episodes in an episodes.csv. Raises UserError if it is none."""
    columns = read_columns(path)
    if "l" not in columns:
        raise UserError(f"{path} has no column l; give the episodes.csv of a run")
    return columns["l"]


def schedule(durations: NDArray[np.float64], processes: int) -> tuple[float, float]:
    """Episodes claimed in their order -> (seconds until the last ends, fraction of all processes'
    time that is spent waiting for it)."""
    free = [(0.0, rank) for rank in range(processes)]
    server = busy = last = 0.0
    for duration in durations.tolist():
        now, rank = heapq.heappop(free)
        server = max(server, now) + CLAIM
        last = max(last, server + duration)
        busy += duration
        heapq.heappush(free, (server + duration, rank))
    return last, 1.0 - busy / (processes * last)


def simulate(lengths: NDArray[np.float64], step_seconds: float, updates: Row) -> Rows:
    """Rows for 100, 1,000 and 7,000 processes; updates: seconds per layer for PAIRS pairs."""
    from es.memory import RECORD

    rows: Rows = []
    rng = np.random.default_rng(0)
    for processes in (100, 1000, 7000):
        for per_process in (2, 8):
            pairs = processes * per_process // 2
            durations = rng.choice(lengths, 2 * pairs) * step_seconds
            played, waiting = schedule(durations, processes)
            hops = HOP * np.ceil(np.log2(processes))
            exchange = hops + 2 * pairs * RECORD.itemsize / BANDWIDTH
            row: Row = {"processes": processes, "pairs": pairs, "play_seconds": played}
            row |= {"waiting": waiting, "exchange_seconds": exchange}
            row["bytes_sent_by_each"] = per_process * RECORD.itemsize + 24
            for name, seconds in updates.items():
                weights, blocks = LAYERS[name]
                update = seconds * pairs / PAIRS / min(processes, blocks)
                update += 4 * weights / BANDWIDTH + hops
                row[f"{name}_efficiency"] = durations.sum() / (
                    processes * (played + exchange + update)
                )
            rows.append({key: round(float(value), 6) for key, value in row.items()})
    return rows


def measure(wanted: list[str], options: Options) -> Repeat:
    """Measure all cases, those of runs with the lengths of their episodes. Raises UserError if
    --episodes is no such file."""
    lengths = lengths_of(options.episodes) if options.episodes else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repeat = {case: run_case(case, options, folder) for case in wanted}
        if "ranks-1" in wanted:
            own = folder / "ranks-1" / "episodes.csv"
            repeat["ranks-1"][LENGTHS] = lengths_of(own) if lengths is None else lengths
    return repeat


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case, then ratios within repeats with their aim, then what they simulate."""
    *_, lengths = (repeat.get("ranks-1", {}).pop(LENGTHS, None) for repeat in repeats)
    rows = cases.median_cases(repeats)
    for n in RANKS:
        rows += cases.ratio_rows(repeats, [(f"ranks-{n}", f"env-{n}", AIM)])
    both = [cases.quotient(repeat, "ranks-2", "ranks-1") for repeat in repeats]
    halves = [None if value is None else value / 2 for value in both]
    rows += cases.median_row({"ratio": "ranks-2/(2 ranks-1)"}, halves, at_least=AIM)
    found = {row["case"]: row for row in rows if "case" in row}
    updates = {n: found[f"update-{n}"]["seconds"] for n in LAYERS if f"update-{n}" in found}
    if lengths is not None and len(updates) == len(LAYERS):
        rows += simulate(lengths, 1.0 / found["ranks-1"]["steps_per_second"], updates)
    return rows


more: Any = {"seconds": 15.0, "episodes": None, "backend": cases.BACKENDS}
main = cases.benchmark("es", __doc__, CASES, measure=measure, table=table, **more)

if __name__ == "__main__":
    main()
