"""What benchmarks of learning share: runs that go on where they stopped, tasks that wait for one
another, and rows of scores."""

import dataclasses
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from contest.match.score import Score, bootstrap_interval, read_episodes, score, score_dict
from experiment.checkpoint import latest_checkpoint
from experiment.config import to_dict
from experiment.errors import UserError
from experiment.files import write_json

OVER = "over.json"
"""In a run's folder: it is complete, and its checkpoints are deleted."""
ARGUMENTS = ".args.json"
"""Ends the name of a file beside a run or a score: what that was made with."""


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of a trainer."""

    module: str
    """The trainer, which has --run-dir, --timesteps and --resume."""
    folder: Path
    steps: int
    """Its --timesteps."""
    flags: Sequence[str]
    """All others."""
    out: Path
    """The folder of all runs: where it lies makes no difference to them."""


def train(run: Run, *, threads: int = 0) -> None:
    """Bring a run to its last step, from wherever it is. UserError: it failed, or is another one.

    threads: of torch in it; 0: its own choice.
    """
    steps = steps_of(run)
    if steps is None:
        if run.folder.exists():  # stopped before its first checkpoint: nothing to go on from
            run.folder.rename(numbered(run.folder))
        keep_arguments(run.folder, arguments_of(run))
        flags = [*run.flags, "--timesteps", str(run.steps)]
    elif steps >= run.steps:
        return
    else:
        flags = ["--resume"]
    arguments = [run.module, "--run-dir", str(run.folder), *flags]
    run_logged(arguments, run.folder.with_suffix(".log"), threads=threads)


def arguments_of(run: Run) -> list[str]:
    """What a run is made with."""
    flags = (word.removeprefix(f"{run.out}/") for word in run.flags)
    return [run.module, *flags, "--timesteps", str(run.steps)]


def keep_arguments(made: Path, arguments: Sequence[str]) -> None:
    """Write down what a run or a score is made with."""
    write_json(made.with_suffix(ARGUMENTS), list(arguments))


def check_arguments(made: Path, arguments: Sequence[str]) -> None:
    """UserError: it was made with others. What has none written down counts as it is."""
    file = made.with_suffix(ARGUMENTS)
    if file.is_file() and (kept := json.loads(file.read_text())) != list(arguments):
        raise UserError(
            f"{made} was made with {shlex.join(kept)}; give the same settings, or another --out"
        )


def flags_of(config: Any, *, without: Collection[str] = ()) -> list[str]:
    """A config as flags."""
    words: list[str] = []
    for name, value in to_dict(config).items():
        flag = name.replace("_", "-")
        if name in without:
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", str(value)]
    return words


def run_logged(arguments: Sequence[str], log: Path, *, threads: int = 0) -> None:
    """Run `python -m` with those arguments; what it prints is added to `log`. UserError: it failed.

    threads: OMP_NUM_THREADS in it; 0: as here.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)} if threads else None
    with log.open("a") as file:
        done = subprocess.run(
            [sys.executable, "-m", *arguments], stdout=file, stderr=file, env=environment
        )
    if done.returncode != 0:
        raise UserError(f"{arguments[0]} failed; see {log}, then give the same command again")


def reached(run_dir: Path) -> int:
    """Agent steps of a run's last checkpoint."""
    if (run_dir / OVER).is_file():
        return int(json.loads((run_dir / OVER).read_text())["env_steps"])
    return int(latest_checkpoint(run_dir).name.removeprefix("step-"))


def steps_of(run: Run) -> int | None:
    """Agent steps that a run has; None: it has not begun. UserError: another one is there."""
    try:
        steps = reached(run.folder)
    except UserError:
        return None
    config = run.folder / "config.json"
    planned = json.loads(config.read_text())["timesteps"] if config.is_file() else run.steps
    if planned != run.steps:
        raise UserError(
            f"{run.folder} is a run of {planned:,} steps, not of {run.steps:,}; give as many, or "
            "another --out"
        )
    check_arguments(run.folder, arguments_of(run))
    return steps


def complete(run: Run) -> bool:
    """Whether a run has all its steps. UserError: another one is there."""
    steps = steps_of(run)
    return steps is not None and steps >= run.steps


def forget_checkpoints(run_dir: Path) -> None:
    """Delete a complete run's checkpoints, of which those of a replay are large."""
    write_json(run_dir / OVER, {"env_steps": reached(run_dir)})
    shutil.rmtree(run_dir / "checkpoints", ignore_errors=True)


def numbered(path: Path) -> Path:
    """A free name for a folder put aside."""
    numbers = range(1, 1_000)
    return next(p for n in numbers if not (p := path.with_name(f"{path.name}.cut-{n}")).exists())


@dataclasses.dataclass(frozen=True)
class Task:
    """Something to do once the tasks that it needs are done."""

    name: str
    do: Callable[[], None]
    needs: tuple[str, ...] = ()


def work(tasks: Sequence[Task], jobs: int, *, say: Callable[[str], None]) -> None:
    """Do all tasks, `jobs` at a time, each the first in order that can be begun.

    One that fails does not keep the others from being done. UserError: some failed, in the end.
    """
    waiting, done, failed = list(tasks), set[str](), list[str]()
    running: dict[Future[None], Task] = {}
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            ready = [task for task in waiting if done.issuperset(task.needs)]
            for task in ready[: jobs - len(running)]:
                waiting.remove(task)
                running[pool.submit(task.do)] = task
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                try:
                    future.result()
                    done.add(task.name)
                    say(f"done: {task.name}")
                except UserError as error:
                    failed.append(task.name)
                    say(f"failed: {task.name}: {error}")
    if failed or waiting:
        left = f"; {len(waiting)} that need others were not begun" if waiting else ""
        raise UserError(f"{len(failed)} of {len(tasks)} failed: {', '.join(failed)}{left}")


def work_and_report(
    tasks: Sequence[Task], jobs: int, report: Callable[[], str], *, say: Callable[[str], None]
) -> None:
    """Do all tasks, then print the report, also where some failed. UserError: some did."""
    try:
        work(tasks, jobs, say=say)
    except UserError:
        print(report())
        raise
    print(report())


def is_kept(path: Path, arguments: Sequence[str]) -> bool:
    """Whether a file was made with these. UserError: with others."""
    if not path.is_file():
        return False
    check_arguments(path, arguments)
    return True


def kept_score(path: Path, play: Callable[[], Score], arguments: Sequence[str]) -> Score:
    """A score that never changes: played the first time, then read from its file. UserError: it
    was made with other arguments."""
    if not is_kept(path, arguments):
        found = play()
        keep_arguments(path, arguments)
        write_json(path, score_dict(found))
    values: dict[str, Any] = json.loads(path.read_text())
    return Score(**values | {name: math.nan for name, value in values.items() if value is None})


def run_scores(runs: Sequence[Run]) -> list[Score]:
    """A score for each run that is complete and has ended an episode."""
    folders = [run.folder for run in runs if complete(run)]
    found = [(folder.name, read_episodes(folder)) for folder in folders]
    return [score(name, episodes) for name, episodes in found if episodes]


def row(label: str, scores: Sequence[Score]) -> Score:
    """Many runs as one row: the mean over runs of each run's score, its interval over the runs."""
    means = np.array([one.mean for one in scores])
    low, high = bootstrap_interval(means)
    return Score(
        label=label,
        mean=float(means.mean()),
        low=low,
        high=high,
        best=max(one.best for one in scores),
        episodes=sum(one.episodes for one in scores),
        finished=sum(one.finished for one in scores),
        steps=sum(one.steps for one in scores),
    )
