"""The runs below a folder, found and described by their files alone."""

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any, final

import msgspec

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import CHECKPOINT, complete_checkpoints, step_of
from retro_agents.ground.output import printable
from retro_agents.run.manifest import FORMAT, VERSION
from retro_agents.studio.curves import config_of
from retro_agents.studio.files import last_rows, newest, read_json, table_paths
from retro_agents.studio.references import reference
from retro_agents.studio.writers import Locks, locks, writer_of

RECENT = 100
"""Episodes over which the newest return is averaged, as in metrics.csv."""
EVERY = 1.0
"""Seconds between two looks at the runs while somebody asks for them."""
PATIENCE = 2.0
"""Seconds for which an answer waits for the first look, or a disk may take unmentioned."""
DEEPEST = 8
"""Folders below the given one in which runs are looked for."""
INSIDE = {"checkpoints", "agent", "films", "node_modules", "__pycache__"}
"""Names of folders in which there are no runs of their own."""


class Row(msgspec.Struct):
    """What a run's row says. Steps are agent steps, times in seconds."""

    id: str
    """Its folder's path below the studio's, which names the run in every request."""
    state: str = "damaged"
    """running, finished, stopped, killed or damaged."""
    error: str = ""
    agent: str = ""
    levels: str = ""
    seed: int | None = None
    steps: int = 0
    timesteps: int = 0
    speed: float | None = None
    """Agent steps per second of the newest rows."""
    mean: float | None = None
    """Mean return of the last hundred episodes; random, oracle: of these players on the same."""
    random: float | None = None
    oracle: float | None = None
    saved: int | None = None
    """The step of the newest checkpoint."""
    begun: float | None = None
    """When it was first started, in seconds since 1970."""


def folders(root: Path) -> Iterator[tuple[Path, set[str]]]:
    """Every folder that may hold something, with its files' names. Links are not followed."""
    depth = len(root.parts)
    for path, below, files in os.walk(root):
        here = Path(path)
        deep = len(here.parts) - depth >= DEEPEST
        below[:] = () if deep else sorted(n for n in below if n not in INSIDE and n[0] != ".")
        if not CHECKPOINT.fullmatch(here.name):
            yield here, set(files)


def sweep_of(run: Path, everything: dict[Path, set[str]]) -> Path | None:
    """The sweep that a run is a cell of: its KIND/RUN.json is beside it. A kind may be GROUP/KIND,
    and a sweep's folder has a table once a cell is complete."""
    if f"{run.name}.json" not in everything.get(run.parent, ()):
        return None
    above = [path for path in run.parent.parents if path in everything]
    return next((path for path in above if "table.md" in everything[path]), next(iter(above), None))


def name_of(path: Path, root: Path) -> str:
    """A path below the studio's folder as text that JSON can hold."""
    return os.fsencode(path.relative_to(root)).decode("utf-8", "replace")


def described(run: Path, name: str, pid: int) -> Row:
    """A run's row. pid: of the process that writes to it, or 0. Whatever is wrong with its files
    becomes the row's `error`."""
    row = Row(name)
    try:
        describe(row, run, pid)
    except (OSError, ValueError, TypeError, AttributeError, UserError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        row.state, row.error = "damaged", printable(reason)
    return row


def describe(row: Row, run: Path, pid: int) -> None:
    """Fill a row from a run's files. Raises UserError and others if they are not a run's."""
    config = config_of(run)
    if "timesteps" not in config:
        raise UserError("config.json is not a run's: it has no timesteps")
    starts = history(run)
    first, last = (starts[0], starts[-1]) if starts else ({}, {})
    row.agent = str(first.get("agent", ""))
    row.levels, row.seed = str(config.get("levels", "")), config.get("seed")
    row.timesteps = int(config.get("timesteps") or 0)
    row.steps = max(map(last_step, table_paths(run)))
    if (begun := first.get("begun")) is not None:
        row.begun = datetime.fromisoformat(begun).timestamp()
    saved = complete_checkpoints(run / "checkpoints")
    row.saved = step_of(saved[-1]) if saved else None
    row.steps = max(row.steps, row.saved or 0)
    if pid:
        row.state = "running"
    elif row.steps >= row.timesteps:
        row.state = "finished"
    else:
        row.state = "stopped" if last.get("ended") else "killed"
    row.speed = speed(run) if pid else None
    row.mean, row.random, row.oracle = returns(run)
    row.error = foreign(saved[-1]) if saved else ""


def history(run: Path) -> list[dict[str, Any]]:
    """The starts of a run, from its provenance.json; [] without one."""
    try:
        found = read_json(run / "provenance.json")
    except FileNotFoundError:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise UserError("provenance.json is damaged: it lists no starts")
    return found


def last_step(table: Path) -> int:
    """The step of a table's last row; 0 without one."""
    return int(next(reversed(newest(table, "step", rows=1)), 0))


def speed(run: Path) -> float | None:
    """Agent steps per second over the newest rows of timing.csv."""
    steps, seconds = newest(run / "timing.csv", "step"), newest(run / "timing.csv", "seconds")
    pairs = list(zip(steps, seconds, strict=False))[-30:]
    since = next((i for i in range(len(pairs) - 1, 0, -1) if pairs[i][1] < pairs[i - 1][1]), 0)
    pairs = pairs[since:]  # of this start alone
    if len(pairs) < 2 or pairs[-1][1] <= pairs[0][1]:
        return None
    return (pairs[-1][0] - pairs[0][0]) / (pairs[-1][1] - pairs[0][1])


def returns(run: Path) -> tuple[float | None, float | None, float | None]:
    """Mean return of the last hundred episodes, and of random play and the oracle on their levels;
    None for what is not known."""
    try:
        header, rows = last_rows(run / "episodes.csv")
        level, r = header.index("level"), header.index("r")
        recent = [(row[level], float(row[r])) for row in rows[-RECENT:]]
    except (FileNotFoundError, ValueError):
        return None, None, None
    if not recent:
        return None, None, None
    others = []
    for player in ("random", "oracle"):
        known = [reference(level, player) for level, _ in recent]
        others.append(None if None in known else fmean(one for one in known if one is not None))
    return fmean(r for _, r in recent), others[0], others[1]


def foreign(checkpoint: Path) -> str:
    """Why this program cannot read a checkpoint; "" if its version is this program's."""
    meta = read_json(checkpoint / "meta.json")
    if meta.get("format") != FORMAT:
        return "its checkpoints are not this project's"
    if meta.get("version") != VERSION:
        return (
            f"its checkpoints have format version {meta['version']}; this program reads {VERSION}"
        )
    return ""


def mark_of(run: Path, pid: int) -> tuple[Any, ...]:
    """What changes when a run's row may change."""
    found: list[Any] = [pid]
    names = ("config.json", "provenance.json", "checkpoints")
    for path in (*table_paths(run), *(run / name for name in names)):
        with suppress(OSError):
            about = path.lstat()
            found += [about.st_mtime_ns, about.st_size, about.st_ino]
            continue
        found.append(None)
    return tuple(found)


def chosen(among: dict[str, Path], name: str, what: str) -> Path:
    """The folder of that name. Raises UserError if there is none."""
    if name not in among:
        raise UserError(f"there is no such {what} here")
    return among[name]


@final
class Index:
    """Follows the runs below a folder, in a thread, while somebody asks for them.

    rows: by run; revision: grows when one changes. contests, sweeps: their folders. cells: the runs
    of each sweep.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.rows: dict[str, Row] = {}
        self.paths: dict[str, Path] = {}
        self.contests: dict[str, Path] = {}
        self.sweeps: dict[str, Path] = {}
        self.cells: dict[str, list[str]] = {}
        self.revision = 0
        self._marks: dict[str, tuple[Any, ...]] = {}
        self._turn, self._wanted = threading.Condition(), False
        self._seen = -math.inf
        """When the newest look began."""
        self._busy: tuple[str, float] | None = None
        threading.Thread(target=self._follow, daemon=True).start()

    def ask(self) -> list[Row]:
        """The rows as they were a moment ago. If nobody has asked for long, waits for a look, for
        PATIENCE at most."""
        now = time.monotonic()
        with self._turn:
            self._wanted = True
            self._turn.notify_all()
            if now - self._seen > 2 * EVERY:
                self._turn.wait_for(lambda: self._seen > now, PATIENCE)
        if (busy := self._busy) and time.monotonic() - busy[1] > PATIENCE:
            slow = f"its disk has not answered for {time.monotonic() - busy[1]:.0f} seconds"
            row = msgspec.structs.replace(self.rows.get(busy[0], Row(busy[0])), error=slow)
            return [*{**self.rows, busy[0]: row}.values()]
        return [*self.rows.values()]

    def run(self, name: str) -> Path:
        """The folder of a run. Names that the index has not found itself are refused. Raises
        UserError."""
        self.ask()
        return chosen(self.paths, name, "run")

    def contest(self, name: str) -> Path:
        """The folder of a contest, see `run`."""
        self.ask()
        return chosen(self.contests, name, "contest")

    def _follow(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._wanted)
                self._wanted, began = False, time.monotonic()
            with suppress(OSError):  # such as of a folder that is removed meanwhile
                self.look()
            with self._turn:
                self._seen = began
                self._turn.notify_all()
            time.sleep(EVERY)

    def look(self) -> None:
        """Find all runs, and read again those that have changed."""
        everything = dict(folders(self.root))
        named = {name_of(folder, self.root): folder for folder in everything}
        paths = {n: folder for n, folder in named.items() if "config.json" in everything[folder]}
        self.contests = {n: f for n, f in named.items() if "contest.json" in everything[f]}
        cells: dict[str, list[str]] = {}
        for name, folder in paths.items():
            if (sweep := sweep_of(folder, everything)) is not None:
                cells.setdefault(name_of(sweep, self.root), []).append(name)
        self.paths, self.cells = paths, cells
        self.sweeps = {name: named[name] for name in cells}
        known = locks()
        for name, folder in paths.items():
            self._busy = name, time.monotonic()
            self._renew(name, folder, known)
        self._busy = None
        for name in self.rows.keys() - paths.keys():
            del self._marks[name]
            self.rows = {other: row for other, row in self.rows.items() if other != name}
            self.revision += 1

    def _renew(self, name: str, folder: Path, known: Locks | None) -> None:
        pid = 0
        with suppress(OSError):
            pid = writer_of(folder, known)
        mark = mark_of(folder, pid)
        if self._marks.get(name) != mark:
            row = described(folder, name, pid)
            self._marks[name] = mark
            if self.rows.get(name) != row:
                self.rows = {**self.rows, name: row}
                self.revision += 1
