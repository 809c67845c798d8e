"""Reads files that a run may be writing at the same moment: never through a link, never twice."""

import csv
import json
import math
import os
import stat
import sys
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.ground.output import printable
from retro_agents.run.manifest import NAME

TAIL = 1 << 14
"""Bytes at a table's end that are read for its newest rows, of which a hundred fit in."""
TABLES = ("metrics", "episodes", "timing")
"""The tables of a run, without .csv."""
MOST_BYTES = 1 << 22
"""Bytes of the largest JSON file that is read."""
MOST_LINE = 1 << 16
"""Bytes of a table's longest first line."""
MOST_CELL = 200
"""Characters of a text in a table that are kept."""
PART = 1 << 24
"""Bytes that are read at a time."""
END = 64
"""Bytes before a table's new rows that are read again."""


def opened(path: Path) -> BinaryIO:
    """Opens a regular file to read. Raises OSError for a link, a pipe or a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path.name} is not a regular file")
    return os.fdopen(descriptor, "rb")


def reason_of(error: Exception) -> str:
    """Why something failed, in one line."""
    return printable(getattr(error, "strerror", None) or str(error) or type(error).__name__)


def damaged(name: str) -> UserError:
    return UserError(f"{name} is damaged: its rows do not fit its header")


def check_file(path: Path, most: float = math.inf) -> None:
    """Raises UserError for a file that is not read: a link, a pipe, a device, or one of more bytes;
    not if there is none."""
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise UserError(f"{path.name} is too large")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {reason_of(error)}") from None


def checkpoints_of(run: Path) -> list[Path]:
    """A run's complete checkpoints, the oldest first. Links are not followed."""
    folder = run / "checkpoints"
    found = [] if folder.is_symlink() else complete_checkpoints(folder)
    return [checkpoint for checkpoint in found if not checkpoint.is_symlink()]


def is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint has all files that its meta.json names."""
    try:
        return all((checkpoint / name).is_file() for name in read_json(checkpoint / NAME)["files"])
    except (OSError, UserError, TypeError, KeyError, ValueError):
        return False


def read_json(path: Path) -> Any:
    """What a JSON file holds. Raises OSError, or UserError if it is damaged."""
    with opened(path) as file:
        data = file.read(MOST_BYTES + 1)
    try:
        if len(data) > MOST_BYTES:
            raise ValueError
        return json.loads(data)
    except (ValueError, RecursionError):
        raise UserError(f"{path.name} is damaged: it is not whole JSON") from None


def header_of(file: BinaryIO, name: str) -> tuple[list[str], int]:
    """A table's header, and where its rows begin; nothing if it is not yet whole. Raises UserError
    if it is damaged."""
    line = file.readline(MOST_LINE)
    if len(line) == MOST_LINE:
        raise UserError(f"{name} is damaged: its first line has no end")
    if not line.startswith(b"step"[: len(line)]):
        raise UserError(f"{name} is damaged: its first column is not step")
    header = next(iter(rows_of(line)), [])
    if len(header) > len({*header}):
        raise UserError(f"{name} is damaged: two of its columns have one name")
    return header, len(line) if header else 0


def rows_of(data: bytes) -> list[list[str]]:
    """The rows of CSV text, without a last one that is not yet whole."""
    text = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace")
    return list(csv.reader(text.splitlines()))


def last_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """A table's header, and its newest whole rows: those in its last bytes. Raises OSError,
    or UserError if it is damaged."""
    with opened(path) as file:
        header, begin = header_of(file, path.name)
        at = max(begin, os.fstat(file.fileno()).st_size - TAIL)
        file.seek(at)
        data = file.read()
    if at > begin:
        data = data[data.find(b"\n") + 1 :]
    found = rows_of(data)
    rows = [row for row in found if len(row) == len(header)]
    if header and found and not rows:
        raise damaged(path.name)
    return header, rows


def newest(path: Path, column: str, *, rows: int = 100) -> list[float]:
    """A column's numbers in the newest rows; [] if there is no such file, or no row yet. Raises
    UserError if it is damaged, as one without this column is."""
    try:
        header, found = last_rows(path)
        if not header:
            return []
        at = header.index(column)
        return [float(row[at]) for row in found[-rows:] if row[at]]
    except FileNotFoundError:
        return []
    except ValueError:
        raise damaged(path.name) from None


@final
class Table:
    """A CSV table, of which each row is read once: `read` adds what was appended since.

    Columns of numbers are float64 with nan for empty cells; others are lists of text. lock:
    requests come in several threads.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        self.begin()

    def begin(self, header: Sequence[str] = (), inode: int = 0) -> None:
        """Forget all rows."""
        self.header, self.inode, self.at, self.end = list(header), inode, 0, b""
        self.numbers: dict[str, array[float]] = {}
        self.texts: dict[str, list[str]] = {}

    def update(self) -> None:
        """Read the rows that are new. A table that was written anew is read anew. Raises OSError,
        or UserError if it is damaged."""
        with opened(self.path) as file:
            found = os.fstat(file.fileno())
            header, begin = header_of(file, self.path.name)
            if (header, found.st_ino) != (self.header, self.inode) or not self.continues(file):
                self.begin(header, found.st_ino)
                self.at = begin
            file.seek(self.at)
            while data := file.read(PART):
                whole = data[: data.rfind(b"\n") + 1]
                if not whole and len(data) < PART:
                    break
                self.add(whole or data)
                self.at, self.end = self.at + len(whole), whole[-END:]
                file.seek(self.at)

    def continues(self, file: BinaryIO) -> bool:
        """Whether a file has what was read so far; a number of a file may be used again."""
        file.seek(max(0, self.at - len(self.end)))
        return file.read(len(self.end)) == self.end

    def add(self, data: bytes) -> None:
        try:
            if b"\n" not in data:
                raise ValueError
            rows = rows_of(data)
            for name, cells in zip(self.header, zip(*rows, strict=True), strict=True):
                self.put(name, cells)
        except (ValueError, csv.Error):
            self.begin()
            raise damaged(self.path.name) from None

    def put(self, name: str, cells: Sequence[str]) -> None:
        """Add cells to a column: of text if its first ones are no numbers."""
        if name not in self.texts:
            try:
                known = cells if all(cells) else [cell or "nan" for cell in cells]
                values = array("d", map(float, known))
                self.numbers.setdefault(name, array("d")).extend(values)
                return
            except ValueError:
                if self.numbers.get(name):
                    raise
                self.numbers.pop(name, None)
        texts = (sys.intern(cell[:MOST_CELL]) for cell in cells)  # levels, of which there are few
        self.texts.setdefault(name, []).extend(texts)

    def read(self) -> "Columns":
        """All columns, with the newest rows. Raises as `update` does."""
        with self.lock:
            self.update()
            numbers = {name: np.array(values) for name, values in self.numbers.items()}
            return Columns(numbers, {name: [*cells] for name, cells in self.texts.items()})


class Columns(NamedTuple):
    """A table's columns as they were."""

    numbers: dict[str, NDArray[np.float64]]
    texts: dict[str, list[str]]

    @property
    def rows(self) -> int:
        sizes = [*map(len, self.numbers.values()), *map(len, self.texts.values())]
        return sizes[0] if sizes else 0

    def column(self, name: str) -> NDArray[np.float64]:
        """A column of numbers; all nan if there is no such column."""
        return self.numbers.get(name, np.full(self.rows, np.nan))
