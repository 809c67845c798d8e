"""Writes a run's metrics.csv and episodes.csv, and sends metrics to TensorBoard and to
`tracking` in the groups rollout/, train/, sight/, time/.

Times are kept apart, in timing.csv, because the other files are identical for identical runs. The
files are valid however a run ends: each row is flushed when it is written, and a resumed run
drops the rows after its checkpoint, so that they equal those of an uninterrupted run.
"""

import csv
import io
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from statistics import fmean
from typing import Any, final

import numpy as np

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_text, writing
from retro_agents.run.fields import NOTHING
from retro_agents.run.tracking import Tracker, begin

ROLLOUT = (
    *("mean_return", "min_return", "max_return", "return"),
    *("current", "best", "replays", "mutants", "explored"),
)
"""Metrics of the episodes played; all others are of learning."""
EPISODE_COLUMNS = ("step", "env", "level", "r", "l", "progress", "finished")


@final
class Table:
    """A CSV file whose first column is `step`, and whose columns may grow later."""

    def __init__(self, path: Path, columns: Sequence[str], *, resume_step: int | None) -> None:
        """Start an empty table, or with resume_step continue after its rows up to that step."""
        self._path = path
        self._columns = list(columns)
        rows: list[dict[str, str]] = []
        if resume_step is not None and path.exists():
            header, rows = _read_rows(path)
            rows = [row for row in rows if int(row["step"]) <= resume_step]
            self._columns += [name for name in header if name not in self._columns]
        self._rewrite(rows)

    def append(self, row: Mapping[str, Any]) -> None:
        """Add one row. New columns are added, and are empty in the earlier rows.

        Raises UserError if it cannot be written.
        """
        new = [name for name in row if name not in self._columns]
        if new:
            self._columns += new
            self._file.close()
            self._rewrite(_read_rows(self._path)[1])
        with writing(self._path):
            self._writer.writerow({name: _plain(value) for name, value in row.items()})
            self._file.flush()

    def close(self) -> None:
        """Close the file. Appending afterwards is an error."""
        with suppress(OSError):  # about a row that `append` could not write, and has reported
            self._file.close()

    def _rewrite(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Replace the file by header and rows in one step, and open it for appending."""
        text = io.StringIO()
        writer = self._writer_to(text)
        writer.writeheader()
        writer.writerows(rows)
        write_text(self._path, text.getvalue())
        self._file = self._path.open("a", encoding="utf-8", newline="")
        self._writer = self._writer_to(self._file)

    def _writer_to(self, file: io.TextIOBase) -> csv.DictWriter:
        return csv.DictWriter(file, self._columns, lineterminator="\n")


@final
class Metrics(AbstractContextManager):
    """Writes a run's metrics.csv, timing.csv (seconds since it began or resumed) and metrics for
    TensorBoard."""

    def __init__(
        self,
        run_dir: Path | str,
        *,
        resume_step: int | None = None,
        track: str = "",
        track_with: str = "",
        config: Mapping[str, Any] | None = None,
        rollout: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        """run_dir: an existing folder. resume_step: env steps of the checkpoint to resume from.

        track, track_with: a service that also gets the numbers (`tracking`). config: shown there.
        rollout: returns numbers that metrics.csv lacks. Raises UserError if a file cannot be
        written.
        """
        run_dir = Path(run_dir)
        self._track: Tracker | None = None
        if track:
            resumes = resume_step is not None
            self._track = begin(
                track, run_dir, config=config or {}, options=track_with, resumes=resumes
            )
        self._table = Table(run_dir / "metrics.csv", ["step"], resume_step=resume_step)
        self._rollout, self._since = rollout, (time.monotonic(), resume_step or 0)
        self._timing = Table(run_dir / "timing.csv", ["step", "seconds"], resume_step=resume_step)
        self._began = time.monotonic()
        from retro_agents.ground.events import Events  # slow to import

        self._events = Events(run_dir, resume_step=resume_step, config=config)

    def log(
        self, step: int, values: Mapping[str, float], *, timing: Mapping[str, float] = NOTHING
    ) -> None:
        """Write one row: numbers by name, measured up to this env step. Raises UserError if it
        cannot.

        timing: further numbers for timing.csv.
        """
        assert "step" not in values, "the column step holds env steps"
        self._table.append({"step": int(step), **values})
        (then, before), now = self._since, time.monotonic()
        self._since = now, step
        self._timing.append({"step": int(step), "seconds": now - self._began, **timing})
        grouped = {group(name): value for name, value in values.items()}
        grouped |= self._rollout()
        grouped["time/steps_per_second"] = (step - before) / max(now - then, 1e-9)
        self._events.log(int(step), grouped)
        floats = {name: float(value) for name, value in grouped.items()}
        self._send(lambda tracker: tracker.log(floats, step=int(step)))

    def _send(self, call: Callable[[Tracker], object]) -> None:
        """Calls the tracker. If that fails, as without a network, warns and calls it no more."""
        if self._track is None:
            return
        try:
            call(self._track)
        except Exception as error:  # each service has classes of its own
            self._track = None
            reason = " ".join(str(error).split()) or type(error).__name__
            lost = "the run continues without it, and metrics.csv has all numbers"
            print(f"warning: --track failed ({reason}): {lost}", file=sys.stderr)

    def close(self) -> None:
        """Close all files."""
        self._table.close()
        self._timing.close()
        self._events.close()
        self._send(lambda tracker: tracker.finish())

    def __exit__(self, *_: object) -> None:
        self.close()


def group(name: str) -> str:
    """A metric's name, preceded by its group unless it names one."""
    return name if "/" in name else f"{'rollout' if name in ROLLOUT else 'train'}/{name}"


@final
class EpisodeLog(AbstractContextManager):
    """Writes a run's episodes.csv: one row per ended episode."""

    def __init__(self, run_dir: Path | str, *, resume_step: int | None = None) -> None:
        path = Path(run_dir) / "episodes.csv"
        self._table = Table(path, EPISODE_COLUMNS, resume_step=resume_step)
        self._recent: deque[Mapping[str, Any]] = deque(maxlen=100)
        for row in _read_rows(path)[1][-100:]:  # of a run that is resumed
            known = (name for name in ("r", "l", "progress", "finished") if row[name])
            self._recent.append({**row, **{name: float(row[name]) for name in known}})

    def log(self, step: int, env: int, episode: Mapping[str, Any]) -> None:
        """episode: r (return), l (agent steps), level, finished; progress (0 to 1) if its family
        reports it, and kind if its agent plays several kinds."""
        kind = ("kind",) if "kind" in episode else ()
        row = {name: episode.get(name, "") for name in (*EPISODE_COLUMNS, *kind)}
        self._table.append({**row, "step": int(step), "env": int(env)})
        self._recent.append(row)

    def rollout(self) -> dict[str, float]:
        """Of the last hundred episodes: share that reached the end, length, furthest progress, mean
        return of each zone (of a level GAME:ZONE.ACT), or game (GAME:SEED)."""
        zones: dict[str, list[float]] = {}
        for row in self._recent:
            zones.setdefault(f"rollout/return/{zone_of(row['level'])}", []).append(row["r"])
        if not zones:
            return {}
        numbers = {zone: fmean(returns) for zone, returns in sorted(zones.items())}
        numbers["rollout/finished"] = fmean(bool(row["finished"]) for row in self._recent)
        numbers["rollout/length"] = fmean(row["l"] for row in self._recent)
        if reached := [row["progress"] for row in self._recent if row["progress"] != ""]:
            numbers["rollout/furthest"] = max(reached)
        return numbers

    def __exit__(self, *_: object) -> None:
        self._table.close()


def zone_of(level: str) -> str:
    """The zone of a level GAME:ZONE.ACT, or the game of GAME:SEED."""
    game, _, state = level.rpartition(":")
    return game if state.isdecimal() else state.partition(".")[0]


def rows_of(table: Path) -> dict[str, np.ndarray]:
    """A table's columns, float64 with nan for empty cells, or text; {} if it has no row, such as of
    a run shorter than --log-every. Raises OSError, or UserError if it is damaged."""
    header, rows = _read_rows(table)
    return {name: _column([row[name] for row in rows]) for name in header} if rows else {}


def read_columns(path: Path | str) -> dict[str, np.ndarray]:
    """As `rows_of`; raises UserError also if there is no such file, or if it has no rows."""
    try:
        columns = rows_of(Path(path))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if not columns:
        raise UserError(f"{path} has no rows yet: let the run play longer, or leave it out")
    return columns


def _read_rows(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Header and rows, without a last row that a kill cut off."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
    if not lines:
        return [], []
    header = lines[0]
    whole = header[:1] == ["step"] and all(len(line) == len(header) for line in lines)
    if not (whole and all(line[0].isdecimal() for line in lines[1:])):
        raise UserError(
            f"{path} is damaged: expected a column step of numbers, and rows as long as the header"
        )
    return header, [dict(zip(header, line, strict=True)) for line in lines[1:]]


def _column(texts: list[str]) -> np.ndarray:
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return np.array(texts)


def _plain(value: Any) -> str | int | float:
    """What the csv module writes such that the same number is read back; booleans as 0 and 1."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return value
    return int(value) if isinstance(value, int) else float(value)
