"""What does evolution add to a trained policy? Its head is searched, then all play all levels.

python -m benchmarks.es_learning --init runs/ppo2 --out runs/es-learning --write
python -m benchmarks.es_learning --init runs/ppo2 --out runs/es-learning --jobs 0   # tables only

search      seeds of `python -m es.train` from the same checkpoint, on the training levels. Every
            few generations the current policy plays all of them without noise: the curve, which
            begins with the unperturbed policy. Episodes are cut early here, to have more of them.
play        whole episodes of the unperturbed policy and of each searched one, on training and on
            held-out levels, by the best action and by draws from the policy. Seed N of a policy has
            the chance of seed N of all others.

Each run has a folder of its own: what is complete is kept, and the same command goes on wherever it
was stopped. CPU time is that of all processes that this command started, those of runs that were
interrupted too, as long as this command itself was not killed.
"""

import dataclasses
import json
import resource
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.es_play import PlayConfig, is_played, read
from benchmarks.machine import store, write_result
from benchmarks.runs import Run, Task, complete, flags_of, row, run_logged, train, work
from contest.match.score import Episode, Score, bootstrap_interval, markdown_table, score
from experiment.checkpoint import load_checkpoint
from experiment.config import load_config, to_dict
from experiment.errors import UserError, command
from experiment.files import make_folder
from experiment.metrics import read_columns
from experiment.plot import plot_curves
from experiment.ranges import Count, Natural

MODES = ("best", "draws")
"""How a policy acts."""
PLAYERS = ("start", "searched")


@dataclasses.dataclass(frozen=True)
class LearningConfig:
    """Search the head of a trained policy by evolution, and say what that was worth."""

    init: str = ""
    """Checkpoint or run folder of the policy to start from."""
    out: Path = Path("runs/es-learning")
    """Folder for all runs, the curve and the table."""
    train_levels: str = "bramble-train"
    """Levels of the search."""
    levels: str = "bramble-test"
    """Held-out levels."""
    seeds: Count = 3
    """Searches from the one checkpoint."""
    steps: Count = 400_000
    """Agent steps of each."""
    flags: str = (
        "--layer head --pairs 47 --levels-per-generation 0 --levels-per-pair 1 --sigma 0.03 "
        "--learning-rate 0.01 --weight-decay 0 --evaluate-every 4 --episode-steps 400 "
        "--num-envs 4 --feature-cache 0 --checkpoint-every 4"
    )
    """Settings of the search. Write --flags='--sigma …'."""
    train_episodes: Count = 1
    """Episodes afterwards on each training level, for each seed."""
    episodes: Count = 3
    """Episodes afterwards on each held-out level, for each seed."""
    episode_steps: Natural = 1_500
    """Agent steps after which these are cut."""
    jobs: Natural = 3
    """Searches or players at a time; 0: only the tables of what is there."""
    write: bool = False
    """Also write benchmarks/results/es_learning.json."""


def searched(config: LearningConfig, seed: int) -> Path:
    """The folder of a search."""
    return config.out / f"search-{seed}"


def search(config: LearningConfig, seed: int) -> Run:
    """One search."""
    flags = ["--init", config.init, "--levels", config.train_levels, "--seed", str(seed)]
    flags += ["--device", "cpu", *shlex.split(config.flags)]
    return Run("es.train", searched(config, seed), config.steps, flags, out=config.out)


def played(config: LearningConfig, split: str, player: str, *, mode: str, seed: int) -> Path:
    """Where the episodes of a player are."""
    return config.out / "play" / f"{split}-{player}-{mode}-{seed}.json"


def playing(config: LearningConfig, split: str, player: str, *, mode: str, seed: int) -> PlayConfig:
    """Episodes of one player on one split."""
    held_out = split == "held-out"
    return PlayConfig(
        agent=config.init if player == "start" else str(searched(config, seed)),
        draws=mode == "draws",
        levels=config.levels if held_out else config.train_levels,
        episodes=config.episodes if held_out else config.train_episodes,
        episode_steps=config.episode_steps,
        seed=seed,
        out=played(config, split, player, mode=mode, seed=seed),
    )


def play(config: PlayConfig) -> None:
    """Play them in a process of their own."""
    words = ["benchmarks.es_play", *flags_of(config)]
    run_logged(words, config.out.with_suffix(".log"), threads=1)


def parts(config: LearningConfig) -> list[tuple[str, str, str, int]]:
    """(split, player, mode, seed) of all that is played afterwards, held-out levels first."""
    return [
        (split, player, mode, seed)
        for split in ("held-out", "training")
        for seed in range(config.seeds)
        for player in PLAYERS
        for mode in MODES
    ]


def tasks_of(config: LearningConfig) -> dict[str, list[Task]]:
    """Phase -> what of it is not done yet."""
    searches = [
        Task(f"search seed {seed}", partial(train, search(config, seed), threads=1))
        for seed in range(config.seeds)
        if not complete(search(config, seed))
    ]
    plays = [
        Task(f"{split} {player} {mode} seed {seed}", partial(play, one))
        for split, player, mode, seed in parts(config)
        if not is_played(one := playing(config, split, player, mode=mode, seed=seed))
    ]
    return {"search": searches, "play": plays}


def timed(name: str, do: Callable[[], None], log: Path) -> None:
    """Do it, and note what it cost, as one more line of `log`."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        do()
    finally:
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cost = {"phase": name, "cpu_seconds": cpu, "seconds": time.monotonic() - began}
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            file.write(json.dumps(cost) + "\n")


def read_costs(log: Path) -> dict[str, float]:
    """CPU hours of each phase."""
    hours: dict[str, float] = {}
    for line in log.read_text().splitlines() if log.is_file() else []:
        one = json.loads(line)
        hours[one["phase"]] = hours.get(one["phase"], 0.0) + one["cpu_seconds"] / 3600
    return {name: round(value, 3) for name, value in hours.items()}


def level_means(episodes: Sequence[Episode]) -> dict[str, float]:
    """Mean return of each level."""
    names = sorted({episode.level for episode in episodes})
    return {n: float(np.mean([e.r for e in episodes if e.level == n])) for n in names}


def difference(start: Sequence[Episode], after: Sequence[Episode]) -> dict[str, float]:
    """What the search changed: the mean over levels, with its 95 % bootstrap interval over them."""
    before, now = level_means(start), level_means(after)
    changes = np.array([now[name] - before[name] for name in before])
    low, high = bootstrap_interval(changes)
    return {"mean": float(changes.mean()), "low": low, "high": high, "levels": len(changes)}


def tables(config: LearningConfig) -> tuple[list[Score], dict[str, Any]]:
    """A row for each split, player and mode, the mean over seeds; and the changes."""
    rows: list[Score] = []
    changes: dict[str, Any] = {}
    for split in ("held-out", "training"):
        for mode in MODES:
            found: dict[str, list[Episode]] = {}
            for player in PLAYERS:
                files = [
                    played(config, split, player, mode=mode, seed=seed)
                    for seed in range(config.seeds)
                ]
                runs = [read(file) for file in files if file.is_file()]
                if runs:
                    label = f"{split}, {player}, {mode}"
                    rows.append(row(label, [score(label, run) for run in runs]))
                    found[player] = [episode for run in runs for episode in run]
            if len(found) == len(PLAYERS):
                changes[f"{split}, {mode}"] = difference(found["start"], found["searched"])
    return rows, changes


def curves(config: LearningConfig) -> dict[int, dict[str, list[float]]]:
    """Of each complete search, by its seed: agent steps, and the current policy's mean return
    without noise there. The first was played before any update; steps are those of the end of the
    generation."""
    found = {}
    for seed in range(config.seeds):
        if complete(search(config, seed)):
            columns = read_columns(searched(config, seed) / "metrics.csv")
            there = ~np.isnan(columns["current"])
            names = ("generation", "step", "current", "return", "spread")
            found[seed] = {name: columns[name][there].tolist() for name in names}
    return found


def report(config: LearningConfig) -> str:
    """Write curve, table and result.json; return the table as Markdown."""
    rows, changes = tables(config)
    found = curves(config)
    text = [markdown_table(rows)] if rows else []
    for name, change in changes.items():
        numbers = f"{change['mean']:+,.0f} (95 % over levels: {change['low']:+,.0f} to "
        text.append(f"{name}: searched − start = {numbers}{change['high']:+,.0f})")
    for seed, curve in found.items():
        values = ", ".join(f"{value:,.0f}" for value in curve["current"])
        text.append(f"seed {seed}, current policy on the training levels: {values}")
    costs = read_costs(config.out / "costs.jsonl")
    text.append(f"CPU hours: {costs}")
    if found:
        plot_curves(
            {"current policy": [searched(config, seed) for seed in found]},
            config.out / "curve.png",
            column="current",
            window=1,
            title="Searching the head: the current policy on the training levels",
            levels={"before the search": float(np.mean([c["current"][0] for c in found.values()]))},
        )
    result = {
        "rows": [dataclasses.asdict(one) for one in rows],
        "changes": changes,
        "curves": list(found.values()),
        "cpu_hours": costs,
        "start": load_checkpoint(config.init).counters,
    }
    store(config.out / "result.json", result)
    (config.out / "result.md").write_text("\n\n".join(text) + "\n")
    if config.write:
        write_result("es_learning", {"config": to_dict(config), **result})
    return "\n\n".join(text)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Do what is not done yet, then report."""
    words = sys.argv[1:] if argv is None else argv
    name = "python -m benchmarks.es_learning"
    config = load_config(LearningConfig, words, presets=None, command=name)
    if not config.init:
        raise UserError("no --init; give a checkpoint or run folder of ppo2")
    make_folder(config.out)
    console = Console()
    for phase, tasks in tasks_of(config).items():
        if config.jobs and tasks:
            console.print(f"{phase}: {len(tasks)} tasks, {config.jobs} at a time")
            do = partial(work, tasks, config.jobs, say=console.print)
            timed(phase, do, config.out / "costs.jsonl")
    print(report(config))


if __name__ == "__main__":
    main()
