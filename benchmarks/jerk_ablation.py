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
import itertools
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.machine import check_settings, read_result
from benchmarks.runs import Run, Task, complete, forget_checkpoints, train, work_and_report
from contest.match.score import read_episodes
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
SEEDED = "rainbow-seeded"
"""Rainbow, whose replay begins with what the pretrained one played on training levels."""
KINDS = ("baseline", *PARTS, HALVES, SUCCESS, "bound", "ppo2", "rainbow", SEEDED)
BESIDE = {
    SUCCESS: "+ memory",
    "bound": "mutating",
    "ppo2": "baseline",
    "rainbow": "baseline",
    SEEDED: "baseline",
}
"""What a kind is compared with, where that is not the kind before it."""
WITHOUT_POLICY = ("baseline", "mutating", "bound", "ppo2")
"""Kinds that no trained policy plays in or begins."""
DECISIVE = ("steps", "rainbow_flags", "ppo2_flags")
"""Settings in which an earlier result must not differ, or its runs were something else; and the
policy, where one played in them, and whether PPO2 was pretrained. Where its pretraining lies says
nothing of what it is."""
SEED_STEPS = 10_000
"""Played for Rainbow's replay, of which `--preset laptop` takes as many."""


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

    if kind == SEEDED:
        return [run("rainbow.train", folder, rainbow_flags(config, seed_run(config).folder))]
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


def seed_run(config: AblationConfig) -> Run:
    """The pretrained Rainbow on the training levels, as it is: it fills a replay and learns
    nothing."""
    flags = [*config.rainbow_flags.split(), "--levels", "bramble-train", "--init-shrink", "1"]
    flags += ["--init", str(config.policy), "--learning-starts", str(2 * SEED_STEPS)]
    return Run("rainbow.train", config.out / "seed", SEED_STEPS, flags, out=config.out)


def play(config: AblationConfig, kind: str, level: Level, seed: int) -> None:
    """One run."""
    runs = runs_of(config, kind, level, seed)
    for run in runs:
        train(run, threads=1)
    for run in runs:
        forget_checkpoints(run.folder)


def is_complete(config: AblationConfig, kind: str, level: Level, seed: int) -> bool:
    """Whether a run has all its steps. UserError: it was made with other settings."""
    if kind == SEEDED:
        complete(seed_run(config))  # which alone knows the policy
    return all(complete(run) for run in runs_of(config, kind, level, seed))


def tasks_of(config: AblationConfig) -> Iterator[Task]:
    """What is not complete: seed by seed, level by level, all kinds of a level together."""
    earlier = earlier_of(config)
    asked = itertools.product(range(config.seeds), levels_of(config), config.only)
    left = [
        (seed, level, kind)
        for seed, level, kind in asked
        if (level.state, seed) not in earlier.get(kind, {})
        and not is_complete(config, kind, level, seed)
    ]
    filled = SEEDED not in {kind for *_, kind in left} or complete(seed_run(config))
    if not filled:
        yield Task("seed", partial(train, seed_run(config), threads=1))
    for seed, level, kind in left:
        needs = () if filled or kind != SEEDED else ("seed",)
        do = partial(play, config, kind, level, seed)
        yield Task(f"{level.state} {kind} seed {seed}", do, needs)


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


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Do what is not done yet, then report."""
    from benchmarks.jerk_ablation_report import report

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
