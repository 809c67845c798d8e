"""What benchmarks of learning share: runs that go on where they stopped, tasks that wait for one
another, and rows of scores."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np

from contest.score import Score, bootstrap_interval, read_episodes, score
from experiment.checkpoint import latest_checkpoint
from experiment.errors import UserError

OVER = "over.json"
"""In a run's folder: it is complete, and its checkpoints are deleted."""


def train(
    module: str, run_dir: Path, steps: int, flags: Sequence[str], *, threads: int = 0
) -> None:
    """Bring the run in `run_dir` to `steps`, from wherever it is. UserError: it failed.

    module: a trainer with --run-dir and --resume. threads: of torch in it; 0: its own choice.
    """
    arguments = ["--run-dir", str(run_dir), *flags]
    try:
        if reached(run_dir) >= steps:
            return
        arguments = ["--run-dir", str(run_dir), "--resume"]
    except UserError:
        if run_dir.exists():  # stopped before its first checkpoint: nothing to go on from
            run_dir.rename(numbered(run_dir))
    run_logged([module, *arguments], run_dir.with_suffix(".log"), threads=threads)


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


def complete(run_dir: Path, steps: int) -> bool:
    """Whether the run exists and got that far."""
    try:
        return reached(run_dir) >= steps
    except UserError:
        return False


def forget_checkpoints(run_dir: Path) -> None:
    """Delete a complete run's checkpoints, of which those of a replay are large."""
    draft = run_dir / f"{OVER}.draft"
    draft.write_text(json.dumps({"env_steps": reached(run_dir)}) + "\n")
    draft.replace(run_dir / OVER)
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


def kept_score(path: Path, play: Callable[[], Score]) -> Score:
    """A score that never changes: played the first time, then read from its file."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(dataclasses.asdict(play())) + "\n")
        draft.replace(path)
    return Score(**json.loads(path.read_text()))


def run_scores(folders: Sequence[Path], steps: int) -> list[Score]:
    """A score for each run that is complete and has ended an episode."""
    runs = [(f, read_episodes(f)) for f in folders if complete(f, steps)]
    return [score(folder.name, episodes) for folder, episodes in runs if episodes]


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
