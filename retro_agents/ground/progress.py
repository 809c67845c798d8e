"""A run's progress: a bar in a terminal, otherwise a line about every ten seconds."""

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TextIO, final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

LINE_SECONDS = 10.0
RATE_SECONDS = 30.0  # the speed is averaged over about this time

SHOWN = 5  # how many numbers fit on a line
SCORE = "mean_return"
"""Comes first."""


@final
class Progress:
    """Shows the steps done, steps/s, the time left and a few numbers on stderr.

    with Progress(100_000) as progress:
        progress.update(step, {"loss": 0.3})
    """

    def __init__(
        self,
        total: int,
        description: str = "training",
        *,
        unit: str = "steps",
        start: int = 0,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """total, start: in `unit`; start is above 0 for a resumed run."""
        self._total, self._unit, self._description = total, unit, description
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._start = self._step = self._shown_step = start
        self._began = self._last_line = clock()
        self._history: deque[tuple[float, int]] = deque([(self._began, start)])
        self._numbers: dict[str, float] = {}
        self._doing = ""
        self._bar: Bar | None = None
        console = Console(file=self._stream)
        bars = console.is_terminal and not console.is_dumb_terminal
        if bars and self._stream.isatty():  # FORCE_COLOR makes no terminal of a file
            rest = Column(no_wrap=True, ratio=1)  # in a narrow terminal only the text is cut off
            text = TextColumn("{task.fields[text]}", table_column=rest)
            columns = BarColumn(bar_width=10), MofNCompleteColumn(), text
            self._bar = Bar("{task.description}", *columns, console=console, expand=True)
            self._task = self._bar.add_task(description, total=total, completed=start, text="")

    def update(self, step: int, numbers: Mapping[str, float] | None = None) -> None:
        """Reports that `step` steps are done, and new values of numbers; the first few are shown.

        Cheap enough to call every step. The other numbers stay as they were.
        """
        new = dict(numbers or {})
        values = new | self._numbers | new  # the newest first
        self._numbers = {SCORE: values[SCORE], **values} if SCORE in values else values
        now, begins = self._clock(), self._step == self._start < step
        if begins and (step - self._start) * 100 < self._total - self._start:
            self._history = deque([(now, step)])  # what came before was not play, but preparation
        elif now - self._history[-1][0] >= 0.5:
            self._history.append((now, step))
        while len(self._history) > 2 and now - self._history[1][0] > RATE_SECONDS:
            self._history.popleft()
        self.at(step)

    def at(self, step: int, doing: str = "") -> None:
        """Reports that `step` steps are done, between calls of `update`, and in words what is being
        done. The speed shown is measured from one `update` to another."""
        self._step, self._doing, now = step, doing, self._clock()
        if self._bar is not None:
            self._bar.update(self._task, completed=step, text=self._text())
        elif now - self._last_line >= LINE_SECONDS:
            self._print_line(now)

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if 0 < self._total <= self._start:
            done = f"{self._start} of {self._total} {self._unit} were done before"
            print(f"{self._description}: nothing left to do, {done}", file=self._stream, flush=True)
        elif self._bar is None and (self._shown_step != self._step or self._step == self._start):
            # The last line shows the run's average speed and its duration.
            self._history = deque([(self._began, self._start)])
            self._print_line(self._clock(), ended=True)

    def steps_per_second(self) -> float:
        """Returns the speed over about the last half minute; 0 before the first step."""
        (then, first), (now, last) = self._history[0], self._history[-1]
        if len(self._history) == 1:
            now, last = self._clock(), self._step
        return (last - first) / (now - then) if now > then else 0.0

    def _text(self) -> str:
        rate = self.steps_per_second()
        digits = ".0f" if rate >= 10.0 else ".2g"
        speed = f"{rate:{digits}} {self._unit}/s" if rate > 0 else ""
        left = f"{duration((self._total - self._step) / rate)} left" if rate > 0 else ""
        shown = list(self._numbers.items())[:SHOWN]
        numbers = [f"{name} {_number(value)}" for name, value in shown]
        return ", ".join(part for part in (self._doing, speed, left, *numbers) if part)

    def _print_line(self, now: float, *, ended: bool = False) -> None:
        took = f" in {duration(now - self._began)}" if ended else ""
        done = f"{self._step}/{self._total} {self._unit}"
        line = ", ".join(filter(None, (f"{self._description}: {done}{took}", self._text())))
        print(line, file=self._stream, flush=True)
        self._last_line, self._shown_step = now, self._step


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Formats a duration: 65.2 -> '1 min 05 s'."""
    whole = max(round(seconds), 0)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {whole % 60:02d} s" if minutes else f"{whole} s"
