"""Which part of JERK does what? Each level searched with one part more at a time.

python -m benchmarks.jerk_ablation --policy rainbow/pretrained --out runs/jerk-ablation --write
python -m benchmarks.jerk_ablation … --only                 # the table of what is there
python -m benchmarks.jerk_ablation … --earlier result.json  # go on where only its result was kept

Every run plays one level in one emulator, in a folder of its own: what is complete is kept, what
was interrupted goes on, with the same command. Seeds come after one another, so that the first ones
are complete on all levels. The table compares the runs (level, seed) that are complete for all
kinds.
"""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.machine import check_settings, read_result, store, write_result
from benchmarks.runs import Run, Task, complete, forget_checkpoints, train, work_and_report
from contest.score import read_episodes
from experiment.config import load_config, to_dict
from experiment.errors import UserError, command
from experiment.files import make_folder
from experiment.ranges import Count
from retro_env import Level, parse_levels

PARTS: dict[str, list[str]] = {
    "mutating": [],
    "+ policy": ["--policy-share", "0.5"],
    "+ memory": ["--memory-share", "0.25"],
    "+ closed-loop": ["--closed-loop"],
    "+ learning": ["--learn"],
}
"""Kind -> its flags, on top of those of the kinds before it."""
BOUND = ["--choice", "bound", "--change-cost", "2", "--trial-share", "0.25"]
"""Of the kind bound, on top of mutating alone."""
SUCCESS = "by-success"
"""As '+ memory', with whole explorations by whoever brought most on the level."""
HALVES = "+ rainbow-replay"
"""Half the steps all of the above, then Rainbow, whose replay begins with the best runs."""
KINDS = ("baseline", *PARTS, HALVES, SUCCESS, "bound", "ppo2", "rainbow")
BESIDE = {SUCCESS: "+ memory", "bound": "mutating", "ppo2": "baseline", "rainbow": "baseline"}
"""What a kind is compared with, where that is not the kind before it."""
WITHOUT_POLICY = ("baseline", "mutating", "bound", "ppo2")
"""Kinds that no trained policy plays in or begins."""
DECISIVE = ("steps", "rainbow_flags", "ppo2_flags")
"""Settings in which an earlier result must not differ, or its runs were something else; and the
policy, where one played in them, and whether PPO2 was pretrained. Where its pretraining lies says
nothing of what it is."""
RESAMPLES = 10_000


@dataclasses.dataclass(frozen=True)
class AblationConfig:
    """Measure what each part of JERK adds, beside Rainbow."""

    out: Path = Path("runs/jerk-ablation")
    """Folder for all runs and the table."""
    policy: Path | None = None
    """A pretrained checkpoint of Rainbow: JERK's policy, and what Rainbow starts from."""
    ppo2: Path | None = None
    """A pretrained checkpoint of PPO2 that it starts from; none: from scratch."""
    levels: str = ""
    """Levels played; empty: every third held-out level, in the order of their names."""
    steps: Count = 200_000
    """Agent steps of each run."""
    seeds: Count = 3
    """Runs of each kind on each level."""
    only: tuple[str, ...] = KINDS
    """Kinds to run and compare; none: no run, but the table of all."""
    rainbow_flags: str = "--preset laptop"
    """Settings of Rainbow on one level."""
    ppo2_flags: str = "--preset fast --rollout-steps 1024 --minibatches 4 --learning-rate 2.5e-4"
    """Settings of PPO2 on one level."""
    earlier: Path | None = None
    """A result of this benchmark whose runs are not made again: they count as they stand there."""
    jobs: Count = 2
    """Runs at a time."""
    write: bool = False
    """Also write benchmarks/results/jerk_ablation.json."""

    def __post_init__(self) -> None:
        for name in self.only:
            if name not in KINDS:
                raise UserError(f"unknown kind {name!r}; expected one of: {', '.join(KINDS)}")


Cells = dict[tuple[str, int], float]
"""(level, seed) -> the run's mean return."""
Scores = dict[str, Cells]
"""By kind."""


def levels_of(config: AblationConfig) -> list[Level]:
    """The levels that are played."""
    if config.levels:
        return parse_levels(config.levels)
    return sorted(parse_levels("bramble-test"), key=lambda level: level.state)[::3]


def jerk_flags(config: AblationConfig, kind: str) -> list[str]:
    """Of jerk.train: the preset, and the parts up to this one."""
    if kind == "baseline":
        return ["--preset", "baseline"]
    if kind == "bound":
        return ["--preset", "mutating", *BOUND]
    if kind == SUCCESS:
        return [*jerk_flags(config, BESIDE[kind]), "--by-success"]
    names = list(PARTS)
    count = len(names) if kind == HALVES else names.index(kind) + 1
    flags = ["--preset", "mutating", "--torch-threads", "1"]
    flags += [flag for name in names[:count] for flag in PARTS[name]]
    if count > names.index("+ policy"):
        flags += ["--policy", str(config.policy or "new")]
    return flags


def rainbow_flags(config: AblationConfig, init: Path | None) -> list[str]:
    """Of rainbow.train in one emulator."""
    flags = [*config.rainbow_flags.split(), "--num-envs", "1", "--rotate-every", "0"]
    return flags + (["--init", str(init)] if init else [])


def ppo2_flags(config: AblationConfig) -> list[str]:
    """Of ppo2.train in one emulator."""
    flags = [*config.ppo2_flags.split(), "--num-envs", "1", "--rotate-every", "0"]
    return flags + (["--init", str(config.ppo2)] if config.ppo2 else [])


def check_policy(config: AblationConfig) -> None:
    """UserError: kinds are asked for that a trained policy plays in, and there is none."""
    for kind in config.only:
        if config.policy is None and kind not in (*WITHOUT_POLICY, "rainbow"):
            raise UserError(f"{kind!r} needs --policy, a pretrained run; or leave it out of --only")


def earlier_of(config: AblationConfig) -> Scores:
    """The scores that an earlier result holds; none without one. UserError: not of such runs."""
    if config.earlier is None:
        return {}
    now = to_dict(config)

    def read(result: dict[str, Any]) -> tuple[Scores, list[str]]:
        found = {
            kind: {key_of(words): float(v) for words, v in runs.items() if v is not None}
            for kind, runs in result["runs"].items()
        }
        policy = () if found.keys() <= set(WITHOUT_POLICY) else ("policy",)
        differing = [k for k in (*DECISIVE, *policy) if result["config"][k] != now[k]]
        pretrained = [c["ppo2"] is not None for c in (result["config"], now)]
        if "ppo2" in found and "ppo2" in config.only and pretrained[0] != pretrained[1]:
            differing.append("ppo2")
        return found, differing

    found, differing = read_result(config.earlier, read)
    check_settings(config.earlier, differing)
    return found


def key_of(words: str) -> tuple[str, int]:
    """'MirageDunes.Act1 2' -> its level and seed."""
    level, seed = words.rsplit(" ", 1)
    return level, int(seed)


def folder_of(config: AblationConfig, kind: str, level: Level, seed: int) -> Path:
    """Where a run is; of HALVES, the second half."""
    return config.out / level.state / f"{kind.removeprefix('+ ')}-{seed}"


def first_half(run: Path) -> Path:
    """The search before Rainbow's half."""
    return run.with_name(f"{run.name}-search")


def runs_of(config: AblationConfig, kind: str, level: Level, seed: int) -> list[Run]:
    """What one run consists of: of HALVES the search and what learns from it, else itself."""
    folder = folder_of(config, kind, level, seed)
    common = ["--levels", str(level), "--seed", str(seed)]

    def run(module: str, folder: Path, flags: list[str]) -> Run:
        steps = config.steps // 2 if kind == HALVES else config.steps
        return Run(module, folder, steps, [*flags, *common], out=config.out)

    if kind == "rainbow":
        return [run("rainbow.train", folder, rainbow_flags(config, config.policy))]
    if kind == "ppo2":
        return [run("ppo2.train", folder, ppo2_flags(config))]
    if kind == HALVES:
        search = first_half(folder)
        return [
            run("jerk.train", search, [*jerk_flags(config, kind), "--write-replay"]),
            run("rainbow.train", folder, rainbow_flags(config, search / "replay")),
        ]
    return [run("jerk.train", folder, jerk_flags(config, kind))]


def play(config: AblationConfig, kind: str, level: Level, seed: int) -> None:
    """One run."""
    runs = runs_of(config, kind, level, seed)
    for run in runs:
        train(run, threads=1)
    for run in runs:
        forget_checkpoints(run.folder)


def is_complete(config: AblationConfig, kind: str, level: Level, seed: int) -> bool:
    """Whether a run has all its steps. UserError: it was made with other settings."""
    return all(complete(run) for run in runs_of(config, kind, level, seed))


def tasks_of(config: AblationConfig) -> Iterator[Task]:
    """What is not complete: seed by seed, level by level, all kinds of a level together."""
    earlier = earlier_of(config)
    for seed in range(config.seeds):
        for level in levels_of(config):
            for kind in config.only:
                known = (level.state, seed) in earlier.get(kind, {})
                if not known and not is_complete(config, kind, level, seed):
                    do = partial(play, config, kind, level, seed)
                    yield Task(f"{level.state} {kind} seed {seed}", do)


def mean_return(run: Path) -> float:
    """The contest's score of a run: over all its ended episodes, of both halves."""
    search = first_half(run)
    episodes = [*(read_episodes(search) if search.exists() else ()), *read_episodes(run)]
    return float(np.mean([episode.r for episode in episodes]))


def collect(config: AblationConfig) -> Scores:
    """The scores of all complete runs, and of earlier ones that were not made again."""
    earlier = earlier_of(config)
    found: Scores = {kind: {} for kind in config.only or KINDS}
    for kind, scores in found.items():
        for level in levels_of(config):
            for seed in range(config.seeds):
                key = (level.state, seed)
                if is_complete(config, kind, level, seed):
                    scores[key] = mean_return(folder_of(config, kind, level, seed))
                elif key in earlier.get(kind, {}):
                    scores[key] = earlier[kind][key]
    return {kind: scores for kind, scores in found.items() if scores}


def mean_of(levels: dict[str, float]) -> float:
    """Over levels, each counting once."""
    return float(np.mean(list(levels.values())))


def interval(values: Cells) -> list[float]:
    """95 % bootstrap interval of the mean over levels, seeds drawn anew within each level; nan
    where a level has a single seed."""
    rng = np.random.default_rng(0)
    levels = sorted({level for level, _ in values})
    means = np.zeros(RESAMPLES)
    for level in levels:
        here = np.array([value for (name, _), value in values.items() if name == level])
        if len(here) < 2:
            return [float("nan"), float("nan")]
        drawn = rng.integers(0, len(here), (RESAMPLES, len(here)))
        means += here[drawn].mean(axis=1) / len(levels)
    return [float(x) for x in np.percentile(means, (2.5, 97.5))]


def over_levels(values: Cells) -> dict[str, float]:
    """Level -> mean over its seeds."""
    levels = sorted({level for level, _ in values})
    return {
        level: float(np.mean([v for (name, _), v in values.items() if name == level]))
        for level in levels
    }


@dataclasses.dataclass(frozen=True)
class Row:
    """A kind over the runs that all kinds have."""

    kind: str
    mean: float
    """Over levels, of the means over their seeds."""
    interval: list[float]
    levels: dict[str, float]
    runs: int
    gain: float | None = None
    """Over the kind that it is compared with."""
    gain_interval: list[float] | None = None


def rows_of(found: Scores) -> list[Row]:
    """A row per kind, over the runs that all kinds have."""
    shared = set.intersection(*(set(scores) for scores in found.values())) if found else set()
    rows: list[Row] = []
    before = ""
    for kind, scores in found.items() if shared else ():
        here = {key: scores[key] for key in sorted(shared)}
        levels = over_levels(here)
        row = Row(kind, mean_of(levels), interval(here), levels, len(here))
        other = BESIDE.get(kind, before)
        if other in found:
            gains = {key: here[key] - found[other][key] for key in here}
            gain = mean_of(over_levels(gains))
            row = dataclasses.replace(row, gain=gain, gain_interval=interval(gains))
        rows.append(row)
        before = kind
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    if not rows:
        return "No level and seed is complete for all kinds yet."
    levels = list(rows[0].levels)
    head = ["kind", "mean return", "95 %", "gain", "95 %", *levels]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in rows:
        gain = "" if row.gain is None else f"{row.gain:+,.0f}"
        cells = [row.kind, f"{row.mean:,.0f}", spelled(row.interval), gain]
        cells += [spelled(row.gain_interval), *(f"{row.levels[name]:,.0f}" for name in levels)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, f"\n{rows[0].runs} runs of each kind."])


def spelled(interval: list[float] | None) -> str:
    """'4,321 … 5,432', or nothing where it is not known."""
    if interval is None or np.isnan(interval).any():
        return ""
    return f"{interval[0]:,.0f} … {interval[1]:,.0f}"


def report(config: AblationConfig) -> str:
    """Write the table and result.json; return the table."""
    found, earlier = collect(config), earlier_of(config)
    rows = rows_of(found)
    # What an earlier result holds stays, also of kinds, levels and seeds that are not shown now.
    runs = {kind: earlier.get(kind, {}) | found.get(kind, {}) for kind in earlier | found}
    result = {
        "config": to_dict(config),
        "rows": [dataclasses.asdict(row) for row in rows],
        "runs": {
            kind: {f"{level} {seed}": value for (level, seed), value in sorted(scores.items())}
            for kind, scores in runs.items()
        },
    }
    config.out.mkdir(parents=True, exist_ok=True)
    store(config.out / "result.json", result)
    (config.out / "result.md").write_text(table(rows) + "\n")
    if config.write:
        write_result("jerk_ablation", result)
    return table(rows)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Do what is not done yet, then report."""
    words = sys.argv[1:] if argv is None else argv
    name = "python -m benchmarks.jerk_ablation"
    config = load_config(AblationConfig, words, presets=None, command=name)
    check_policy(config)
    make_folder(config.out)
    say = Console(soft_wrap=True).print
    tasks = list(tasks_of(config))
    say(f"{len(tasks)} runs to do, {config.jobs} at a time; their logs are in {config.out}")
    work_and_report(tasks, config.jobs, partial(report, config), say=say)


if __name__ == "__main__":
    main()
