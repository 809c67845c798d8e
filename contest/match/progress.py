"""How far the jobs of a contest are: a bar for each in a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, TextIO, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from contest.match.folder import read_result
from contest.match.job import Job

LINE_SECONDS = 30.0


@final
class JobsProgress:
    """with JobsProgress(…) as progress: `begin` a job, `update` it often, `end` it."""

    def __init__(self, jobs: int, over: int, *, steps: int, stream: TextIO | None = None) -> None:
        """jobs: in all; over: of an earlier call. steps: of a job."""
        self.jobs, self.over, self.steps = jobs, over, steps
        self.console = Console(file=sys.stderr if stream is None else stream)
        self.bars: Progress | None = None
        self.tasks: dict[Path, TaskID] = {}  # by folder: two games may share a state's name
        self.spoke: dict[Path, float] = {}
        if self.console.is_terminal:
            self.bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[text]}"),
                TimeRemainingColumn(),
                console=self.console,
            )
            self.total = self.bars.add_task("all", total=jobs * steps, text="")
            self.bars.update(self.total, completed=over * steps)
        elif over:
            self.say(f"{over} of {jobs} are over already")

    def __enter__(self) -> JobsProgress:
        if self.bars is not None:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars is not None:
            self.bars.stop()

    def say(self, text: str) -> None:
        """One line. Not markup: an agent's last words may hold brackets."""
        self.console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def begin(self, job: Job) -> None:
        """A job has been started."""
        self.spoke[job.folder] = time.monotonic()
        if self.bars is not None:
            self.tasks[job.folder] = self.bars.add_task(job.name, total=self.steps, text="")
        else:
            self.say(f"{job.name}: begins")

    def update(self, job: Job) -> None:
        """Show a job's numbers."""
        result = read_result(job.folder)
        if result is None:
            return
        if self.bars is not None:
            task = self.tasks[job.folder]
            self.bars.update(task, completed=result["steps"], text=numbers(result))
            ahead = sum(bar.completed for bar in self.bars.tasks if bar.id != self.total)
            self.bars.update(self.total, completed=self.over * self.steps + ahead)
        elif time.monotonic() - self.spoke[job.folder] > LINE_SECONDS:
            self.spoke[job.folder] = time.monotonic()
            self.say(f"{job.name}: {result['steps']:,}/{self.steps:,} steps, {numbers(result)}")

    def end(self, job: Job, status: str) -> None:
        """A job is over."""
        self.over += 1
        if self.bars is not None:
            self.bars.remove_task(self.tasks.pop(job.folder))
            self.bars.update(self.total, completed=self.over * self.steps)
        result = read_result(job.folder)
        told = "nothing was played" if result is None else numbers(result)
        self.say(f"{job.name}: {status}, {told} ({self.over}/{self.jobs})")
        if status == "crashed":
            self.say(f"{job.name}: {job.last_line('agent')} (more in {job.folder / 'agent.log'})")


def numbers(result: dict[str, Any]) -> str:
    """A job's result in a few words."""
    if result["mean_return"] is None:
        return "no step yet"
    rate = result["steps"] / result["seconds"] if result["seconds"] > 0 else 0.0
    mean, episodes = result["mean_return"], result["episodes"]
    return f"mean return {mean:,.0f} of {episodes} episodes, {rate:,.0f} steps/s"
