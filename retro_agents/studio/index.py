"""The runs below a folder, found and described by their files alone."""

import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from os import scandir
from pathlib import Path
from typing import Any, Literal, final

import msgspec

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import CHECKPOINT
from retro_agents.studio.row import Row, described, mark_of
from retro_agents.studio.writers import Locks, locks, writer_of

EVERY = 1.0
"""Seconds of rest after a look at the runs, at least, while somebody asks for them."""
SHARE = 0.005
"""The share of a core that looking takes: after a look at many runs the rest is longer."""
LONGEST = 3.0
"""Seconds of rest at most."""
PATIENCE = 2.0
"""Seconds for which an answer waits for the first look, or a disk may take unmentioned."""
DEEPEST = 8
"""Folders below the given one in which runs are looked for."""
INSIDE = {"checkpoints", "agent", "films", "node_modules", "__pycache__"}
"""Names of folders in which there are no runs of their own."""

COPY = re.compile(r"\.|checkpoint_\d+$")
"""Names of hidden folders, and of the copies of runs that Ray keeps of a population."""


def is_inside(name: str) -> bool:
    """Whether a folder of that name is a part of a run."""
    return name in INSIDE or COPY.match(name) is not None


class Late(Exception):  # noqa: N818
    """A disk answered too late: another thread has taken the place of this one."""


def folders(
    root: Path, scanning: Callable[[Path], AbstractContextManager[bool]]
) -> Iterator[tuple[Path, set[str]]]:
    """Every folder that may hold something, with its files' names. Links are not followed.

    scanning: surrounds the look into a folder, and says whether to look.
    """
    todo = [(root, 0)]
    while todo:
        here, depth = todo.pop()
        below, files = list[str](), set[str]()
        with scanning(here) as wanted, suppress(OSError):
            for entry in scandir(here) if wanted else ():
                if not entry.is_dir(follow_symlinks=False):
                    files.add(entry.name)
                elif not is_inside(entry.name):
                    below.append(entry.name)
        if depth < DEEPEST:
            todo += [(here / name, depth + 1) for name in sorted(below, reverse=True)]
        if wanted and not CHECKPOINT.fullmatch(here.name):
            yield here, files


def sweep_of(run: Path, everything: dict[Path, set[str]]) -> Path | None:
    """The sweep that a run is a cell of: its KIND/RUN.json is beside it. A kind may be GROUP/KIND,
    and a sweep's folder has a table once a cell is complete. A population's runs are in its
    folder's runs/."""
    if run.parent.name == "runs" and "population.json" in everything.get(run.parent.parent, ()):
        return run.parent.parent
    if f"{run.name}.json" not in everything.get(run.parent, ()):
        return None
    above = [path for path in run.parent.parents if path in everything]
    return next((path for path in above if "table.md" in everything[path]), next(iter(above), None))


def name_of(path: Path, root: Path) -> str:
    """A path below the studio's folder as text that JSON can hold."""
    text = str(path)[len(str(root)) :].lstrip(os.sep) or "."  # quicker than relative_to
    return os.fsencode(text).decode("utf-8", "replace")


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
        self._asked = self._seen = self._idle = -math.inf
        """When somebody asked last, when the newest look began, and when somebody asked after a
        pause: older looks do not count."""
        self._busy: tuple[str, float] | None = None
        self._slow: dict[str, float] = {}
        """Runs whose disk does not answer -> since when; a thread waits for each."""
        self._begin()

    def ask(self) -> list[Row]:
        """The rows as they were a moment ago. If nobody has asked for long, waits for a look, for
        PATIENCE at most."""
        now = time.monotonic()
        with self._turn:
            if now - self._asked > LONGEST + 3 * EVERY:
                self._idle = now
            self._asked, self._wanted = now, True
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._seen > self._idle, PATIENCE)
            patience, until = PATIENCE, time.monotonic() + PATIENCE
            while self._give_up(patience) and time.monotonic() < until:
                patience = PATIENCE / 10  # there may be more on that disk
                self._turn.wait(2 * patience)
        rows = dict(self.rows)
        for name, since in [*self._slow.items()]:
            text = f"its disk has not answered for {time.monotonic() - since:.0f} seconds"
            rows[name] = msgspec.structs.replace(rows.get(name, Row(name)), error=text)
        return [*rows.values()]

    def _give_up(self, patience: float) -> bool:
        """Whether the folder that is looked at has not answered for so many seconds: another thread
        then looks at the others."""
        if not self._busy or time.monotonic() - self._busy[1] <= patience:
            return False
        self._slow[self._busy[0]], self._busy, self._wanted = self._busy[1], None, True
        self._begin()
        return True

    def folder(self, name: str, what: Literal["run", "contest", "sweep"] = "run") -> Path:
        """The folder of that name. Names that the index has not found itself are refused. Raises
        UserError, also if its disk does not answer."""
        self.ask()
        found = {"run": self.paths, "contest": self.contests, "sweep": self.sweeps}[what]
        if self.is_slow(name):
            raise UserError(f"the disk of {name} does not answer")
        if name not in found:
            raise UserError(f"there is no such {what} here")
        return found[name]

    def _begin(self) -> None:
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Look whenever somebody has asked. Ends once another thread goes on in its place, because
        this one waited for a disk."""
        while True:
            with self._turn:
                self._turn.wait_for(lambda: self._wanted)
                self._wanted, began, worked = False, time.monotonic(), time.thread_time()
            try:
                self.look()
            except Late:
                return
            except Exception:  # such as of a folder that is removed meanwhile
                pass  # the next look tries again
            with self._turn:
                self._seen = began
                self._turn.notify_all()
            time.sleep(max(EVERY, min(LONGEST, (time.thread_time() - worked) / SHARE)))

    @contextmanager
    def _waiting(self, folder: Path) -> Iterator[bool]:
        """Surrounds what waits for a folder's disk. Yields whether it may: not while another thread
        waits for it. Raises Late if this one has waited too long."""
        name = name_of(folder, self.root)
        if name in self._slow:
            yield False
            return
        self._busy = name, time.monotonic()
        try:
            yield True
        finally:
            with self._turn:
                if self._slow.pop(name, None):
                    raise Late
                self._busy = None

    def is_slow(self, name: str) -> bool:
        """Whether a folder, or one above it, is on a disk that does not answer."""
        return any(slow in (name, ".") or name.startswith(f"{slow}/") for slow in [*self._slow])

    def look(self) -> None:
        """Find all runs, and read again those that have changed. Raises Late."""
        everything = dict(folders(self.root, self._waiting))
        named = {name_of(folder, self.root): folder for folder in everything}
        paths = {name: path for name, path in self.paths.items() if self.is_slow(name)}
        paths |= {n: folder for n, folder in named.items() if "config.json" in everything[folder]}
        contests = {n: f for n, f in self.contests.items() if self.is_slow(n)}
        found = {n: f for n, f in named.items() if "contest.json" in everything[f]}
        self.contests = contests | found
        cells: dict[str, list[str]] = {}
        for name, folder in paths.items():
            if (sweep := sweep_of(folder, everything)) is not None:
                cells.setdefault(name_of(sweep, self.root), []).append(name)
        self.paths, self.cells = paths, cells
        self.sweeps = {name: named[name] for name in cells}
        known = locks()
        for name, folder in paths.items():
            with self._waiting(folder) as wanted:
                if wanted:
                    self._renew(name, folder, known)
        for name in self.rows.keys() - paths.keys():
            self._marks.pop(name, None)  # two threads may have written rows
            self.rows = {other: row for other, row in self.rows.items() if other != name}
            self.revision += 1

    def _renew(self, name: str, folder: Path, known: Locks | None) -> None:
        pid = 0
        with suppress(OSError):
            pid = writer_of(folder, known)
        mark = mark_of(folder, pid)
        if self._marks.get(name) != mark:
            row = described(folder, name, pid)
            self._marks[name] = mark if row.state != "damaged" else ()  # its disk may heal
            if self.rows.get(name) != row:
                self.rows = {**self.rows, name: row}
                self.revision += 1
