"""What PPO2 learns: on all levels at once, on levels it never saw, and beside Stable-Baselines3.

python -m benchmarks.ppo2_learning --out runs/ppo2-learning --jobs 2 --write
python -m benchmarks.ppo2_learning --out runs/ppo2-learning --only joint sb3 adapt
python -m benchmarks.ppo2_learning --out runs/ppo2-learning --only       # tables of what is there
python -m benchmarks.ppo2_learning … --earlier result.json  # go on where only its result was kept

joint, serial, sb3   pretraining: all levels at once, one after the other, and Stable-Baselines3's
                     PPO with joint's net, levels and settings (benchmarks.sb3_ppo)
frozen               held-out levels, played by these without learning, and by references
adapt                held-out levels, learned from scratch and from joint, by Stable-Baselines3 too
ablation             four training levels from scratch, with each way to explore, and with --overlap
rainbow              held-out levels, learned by Rainbow from scratch and with joint's convolutions

Each run has a folder of its own: what is complete is kept, and the same command goes on wherever it
was stopped. Seeds come after one another, so that the first ones are complete on all levels.
"""

import dataclasses
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from benchmarks.frozen import FrozenConfig, is_played
from benchmarks.machine import check_settings, read_result
from benchmarks.runs import (
    Run,
    Task,
    complete,
    flags_of,
    forget_checkpoints,
    run_logged,
    train,
    work_and_report,
)
from contest.match.references import REFERENCES
from contest.match.score import Score
from experiment.config import load_config, to_dict
from experiment.errors import command
from experiment.files import make_folder
from experiment.ranges import Count, Natural, NonNegative
from retro_env import Level, parse_levels

PPO2, SB3, RAINBOW = "ppo2.train", "benchmarks.sb3_ppo", "rainbow.train"
PRETRAINED = {"joint": (PPO2, []), "serial": (PPO2, ["--serial"]), "sb3": (SB3, [])}
"""Name -> trainer, further flags."""
Part = Literal["joint", "serial", "sb3", "frozen", "adapt", "ablation", "rainbow"]
PARTS: tuple[Part, ...] = ("joint", "serial", "sb3", "frozen", "adapt", "ablation", "rainbow")
Runs = dict[tuple[int, str], Score]
"""(seed, level) -> the score of one run."""
DECISIVE = (
    *("train_levels", "pretrain_steps", "play_steps", "frozen_steps", "pretrain_flags"),
    *("adapt_flags", "rainbow_flags", "freeze_updates", "distillation", "novelty"),
)
"""Settings in which an earlier result must not differ, or its runs were something else."""


@dataclasses.dataclass(frozen=True)
class LearningConfig:
    """Measure what PPO2 learns."""

    out: Path = Path("runs/ppo2-learning")
    """Folder for all runs, the curves and the tables."""
    only: tuple[Part, ...] = PARTS
    """Parts to do now; tables are of all that is complete."""
    train_levels: str = "bramble-train"
    """Levels of the pretraining; the ablation takes four of them, evenly spread."""
    levels: str = "bramble-test"
    """Levels played afterwards."""
    pretrain_steps: Count = 1_000_000
    """Agent steps of each pretraining, of which there is one each."""
    play_steps: Count = 50_000
    """Agent steps of each run that learns one level."""
    frozen_steps: Count = 10_000
    """Agent steps of each player on each level, without learning."""
    seeds: Count = 3
    """Runs of each kind on each level."""
    pretrain_flags: str = "--preset fast"
    """Settings of all pretraining. Write --pretrain-flags='--preset …'."""
    adapt_flags: str = (
        "--preset fast --num-envs 1 --rollout-steps 1024 --minibatches 4 --learning-rate 2.5e-4"
    )
    """Settings of PPO, either one, on one level: in one emulator, as the contest has it."""
    rainbow_flags: str = "--preset laptop --num-envs 4 --replay-size 100000"
    """Settings of Rainbow on one level."""
    freeze_updates: Natural = 3_000
    """Updates for which Rainbow leaves joint's convolutions alone, in one of its kinds."""
    rainbow_init: str = ""
    """A pretrained run of Rainbow's own, to compare with; none: it is left out."""
    distillation: NonNegative = 0.1
    """Weight of the bonus in the ablation."""
    novelty: NonNegative = 0.1
    """Weight of the bonus in the ablation."""
    earlier: Path | None = None
    """A result of this benchmark whose runs are not made again: they count as they stand there."""
    jobs: Count = 2
    """Processes that learn or play at a time."""
    write: bool = False
    """Also write benchmarks/results/ppo2_learning.json."""

    @property
    def threads(self) -> int:
        """Of torch, in each process."""
        return max(1, (os.cpu_count() or 1) // self.jobs)


@dataclasses.dataclass(frozen=True)
class Kind:
    """One way to learn a level: the trainer, its flags, and the pretraining that it starts from."""

    module: str
    flags: Sequence[str]
    needs: str = ""


def kinds_of(config: LearningConfig) -> dict[str, dict[str, Kind]]:
    """Part -> name -> kind."""
    ppo, rainbow = shlex.split(config.adapt_flags), shlex.split(config.rainbow_flags)
    from_joint = ["--init", str(config.out / "joint")]
    encoder = [*rainbow, "--init-encoder", str(config.out / "joint")]
    frozen = [*encoder, "--freeze-encoder-updates", str(config.freeze_updates)]
    kinds = {
        "adapt": {
            "scratch": Kind(PPO2, ppo),
            "joint": Kind(PPO2, [*ppo, *from_joint], "joint"),
            "sb3-scratch": Kind(SB3, ppo),
            "sb3-joint": Kind(SB3, [*ppo, "--init", str(config.out / "sb3")], "sb3"),
        },
        "ablation": {
            "plain": Kind(PPO2, ppo),
            "noisy": Kind(PPO2, [*ppo, "--noisy"]),
            "distillation": Kind(PPO2, [*ppo, "--distillation", str(config.distillation)]),
            "novelty": Kind(PPO2, [*ppo, "--novelty", str(config.novelty)]),
            "overlap": Kind(PPO2, [*ppo, "--overlap"]),
        },
        "rainbow": {
            "scratch": Kind(RAINBOW, rainbow),
            "encoder": Kind(RAINBOW, encoder, "joint"),
            "encoder-frozen": Kind(RAINBOW, frozen, "joint"),
        },
    }
    if config.rainbow_init:
        own = [*rainbow, "--init", config.rainbow_init]
        kinds["rainbow"]["pretrained"] = Kind(RAINBOW, own)
    return kinds


def earlier_of(config: LearningConfig) -> dict[str, dict[str, Runs]]:
    """Part -> kind -> the runs of an earlier result; none without one. UserError: of other ones.

    It has each run's mean, and episodes, ends, steps and the best only of a kind as a whole: these
    stand with the first run, so that they count once.
    """
    if config.earlier is None:
        return {}
    now = to_dict(config)

    def read(result: dict[str, Any]) -> tuple[dict[str, dict[str, Runs]], list[str]]:
        found: dict[str, dict[str, Runs]] = {}
        for part, values in ((part, result.get(part)) for part in PARTS):
            kinds = zip(values["runs"].items(), values["rows"], strict=True) if values else ()
            found[part] = {name: earlier_runs(means, row) for (name, means), row in kinds}
        return found, [name for name in DECISIVE if result["config"][name] != now[name]]

    found, differing = read_result(config.earlier, read)
    check_settings(config.earlier, differing)
    return found


def earlier_runs(means: Mapping[str, float], row: Mapping[str, Any]) -> Runs:
    """The stored runs of a kind ('MirageDunes.Act1 2' -> mean) and its row, as scores."""
    runs: Runs = {}
    counts = {name: row[name] for name in ("best", "episodes", "finished", "steps")}
    for words, mean in means.items():
        level, seed = words.rsplit(" ", 1)
        runs[int(seed), level] = Score(level, float(mean), low=math.nan, high=math.nan, **counts)
        counts = {"best": -math.inf, "episodes": 0, "finished": 0, "steps": 0}
    return runs


def levels_of(config: LearningConfig, part: str) -> list[Level]:
    """The levels that a part plays."""
    if part != "ablation":
        return parse_levels(config.levels)
    levels = parse_levels(config.train_levels)
    count = min(4, len(levels))
    return [levels[i * len(levels) // count] for i in range(count)]


def players_of(config: LearningConfig, seed: int) -> dict[str, tuple[str, FrozenConfig]]:
    """Frozen player -> (the pretraining that it needs, what it plays)."""

    def player(name: str, agent: str, *, draws: bool = False) -> FrozenConfig:
        return FrozenConfig(
            agent=agent,
            draws=draws,
            levels=config.levels,
            steps=config.frozen_steps,
            seed=seed,
            out=config.out / "frozen",
            name=name,
        )

    players: dict[str, tuple[str, FrozenConfig]] = {}
    for name in PRETRAINED:
        agent, draws, best = str(config.out / name), f"{name}-draws", f"{name}-argmax"
        players[draws] = name, player(draws, agent, draws=True)
        players[best] = name, player(best, agent)
    return {**players, **{name: ("", player(name, name)) for name in REFERENCES}}


def folder_of(config: LearningConfig, part: str, kind: str, level: Level, seed: int) -> Path:
    """Where a run that learns one level is."""
    return config.out / part / level.state / f"{kind}-{seed}"


def pretraining(config: LearningConfig, name: str) -> Run:
    """One of the pretrainings."""
    module, flags = PRETRAINED[name]
    flags = [*shlex.split(config.pretrain_flags), *flags, "--levels", config.train_levels]
    flags += ["--seed", "0", "--checkpoint-every", "100000"]
    return Run(module, config.out / name, config.pretrain_steps, flags, out=config.out)


def play_frozen(player: FrozenConfig, *, threads: int) -> None:
    """One player on all held-out levels."""
    log = player.out / f"{player.name}-{player.seed}.log"
    run_logged(["benchmarks.frozen", *flags_of(player)], log, threads=threads)


def run_of(config: LearningConfig, part: str, name: str, level: Level, seed: int) -> Run:
    """One run on one level."""
    kind = kinds_of(config)[part][name]
    flags = [*kind.flags, "--levels", str(level), "--rotate-every", "0", "--seed", str(seed)]
    flags += ["--checkpoint-every", "0"]
    folder = folder_of(config, part, name, level, seed)
    return Run(kind.module, folder, config.play_steps, flags, out=config.out)


def learn_level(run: Run, *, threads: int) -> None:
    """Do it; its checkpoints are deleted in the end."""
    train(run, threads=threads)
    forget_checkpoints(run.folder)


def tasks_of(config: LearningConfig) -> Iterator[Task]:
    """All that is asked for and not complete: pretraining, then seed by seed."""
    earlier = earlier_of(config)
    for name in PRETRAINED:
        if name in config.only and not complete(run := pretraining(config, name)):
            yield Task(name, partial(train, run, threads=config.threads))
    for seed in range(config.seeds):
        if "frozen" in config.only:
            yield from frozen_tasks(config, seed, earlier.get("frozen", {}))
        for part, kinds in kinds_of(config).items():
            levels = levels_of(config, part) if part in config.only else []
            for level in levels:
                for name, kind in kinds.items():
                    run = run_of(config, part, name, level, seed)
                    known = (seed, level.state) in earlier.get(part, {}).get(name, {})
                    if not known and not complete(run):
                        do = partial(learn_level, run, threads=config.threads)
                        needs = (kind.needs,) if kind.needs else ()
                        yield Task(f"{part} {level.state} {name} seed {seed}", do, needs)


def frozen_tasks(config: LearningConfig, seed: int, earlier: Mapping[str, Runs]) -> Iterator[Task]:
    """The players that have not yet played all levels, earlier or now."""
    for name, (needs, player) in players_of(config, seed).items():
        known = earlier.get(name, {})
        levels = [one for one in levels_of(config, "frozen") if (seed, one.state) not in known]
        if not all(is_played(player, level) for level in levels):
            do = partial(play_frozen, player, threads=config.threads)
            yield Task(f"frozen {name} seed {seed}", do, (needs,) if needs else ())


def doable(
    config: LearningConfig, tasks: Sequence[Task], *, say: Callable[[str], None]
) -> list[Task]:
    """The tasks, those that need a pretraining which is neither complete nor asked for left out."""
    asked = {task.name for task in tasks}
    done = {name for name in PRETRAINED if complete(pretraining(config, name))}
    for name in {need for task in tasks for need in task.needs} - asked - done:
        say(f"left out: what needs {name}, which is not complete (--only {name} completes it)")
    return [
        dataclasses.replace(task, needs=tuple(need for need in task.needs if need not in done))
        for task in tasks
        if asked.union(done).issuperset(task.needs)
    ]


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Do what is not done yet, then report."""
    from benchmarks.ppo2_learning_report import report

    words = sys.argv[1:] if argv is None else argv
    name = "python -m benchmarks.ppo2_learning"
    config = load_config(LearningConfig, words, presets=None, command=name)
    make_folder(config.out)
    say = Console(soft_wrap=True).print
    tasks = doable(config, list(tasks_of(config)), say=say)
    say(f"{len(tasks)} to do, {config.jobs} at a time; their logs are in {config.out}")
    work_and_report(tasks, config.jobs, partial(report, config), say=say)


if __name__ == "__main__":
    main()
