"""The runs below a folder, found and described by their files alone."""

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import msgspec

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import CHECKPOINT
from retro_agents.studio.row import Row, described, mark_of
from retro_agents.studio.writers import Locks, locks, writer_of

EVERY = 1.0
"""Seconds between two looks at the runs while somebody asks for them."""
PATIENCE = 2.0
"""Seconds for which an answer waits for the first look, or a disk may take unmentioned."""
DEEPEST = 8
"""Folders below the given one in which runs are looked for."""
INSIDE = {"checkpoints", "agent", "films", "node_modules", "__pycache__"}
"""Names of folders in which there are no runs of their own."""


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
        self._slow: dict[str, float] = {}
        """Runs whose disk does not answer -> since when; a thread waits for each."""
        self._begin()

    def ask(self) -> list[Row]:
        """The rows as they were a moment ago. If nobody has asked for long, waits for a look, for
        PATIENCE at most."""
        now = time.monotonic()
        with self._turn:
            self._wanted = True
            self._turn.notify_all()
            if now - self._seen > 2 * EVERY:
                self._turn.wait_for(lambda: self._seen > now, PATIENCE)
            if self._busy and time.monotonic() - self._busy[1] > PATIENCE:
                self._slow[self._busy[0]], self._busy = self._busy[1], None
                self._begin()
        rows = dict(self.rows)
        for name, since in [*self._slow.items()]:
            text = f"its disk has not answered for {time.monotonic() - since:.0f} seconds"
            rows[name] = msgspec.structs.replace(rows.get(name, Row(name)), error=text)
        return [*rows.values()]

    def run(self, name: str) -> Path:
        """The folder of a run. Names that the index has not found itself are refused. Raises
        UserError."""
        self.ask()
        return chosen(self.paths, name, "run")

    def contest(self, name: str) -> Path:
        """The folder of a contest, see `run`."""
        self.ask()
        return chosen(self.contests, name, "contest")

    def _begin(self) -> None:
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Look whenever somebody has asked. Ends once another thread goes on in its place, because
        this one waited for a disk."""
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._wanted)
                self._wanted, began = False, time.monotonic()
            with suppress(OSError):  # such as of a folder that is removed meanwhile
                if not self.look():
                    return
            with self._turn:
                self._seen = began
                self._turn.notify_all()
            time.sleep(EVERY)

    def look(self) -> bool:
        """Find all runs, and read again those that have changed. Returns whether no disk kept it
        waiting for long."""
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
            if name in self._slow:
                continue
            self._busy = name, time.monotonic()
            self._renew(name, folder, known)
            with self._turn:
                if self._slow.pop(name, None):
                    return False
                self._busy = None
        for name in self.rows.keys() - paths.keys():
            del self._marks[name]
            self.rows = {other: row for other, row in self.rows.items() if other != name}
            self.revision += 1
        return True

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
