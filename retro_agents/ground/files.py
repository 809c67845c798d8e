"""Files that are whole or not there, whenever their writer is killed."""

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import lock_descriptor

from retro_agents.ground.errors import UserError

ASIDE = ".replaced"
"""Ends the name of a checkpoint while another takes its place."""
CHECKPOINT = re.compile(rf"step-\d+({re.escape(ASIDE)})?")
"""Names of their folders."""
PATIENCE = 5.0
"""Seconds for which a lock is waited for: what was killed may leave children for a moment."""


def wait_for_lock(descriptor: int, *, otherwise: str) -> None:
    """Lock an open file or folder until it is closed; where the file system has no locks, don't.
    UserError: `otherwise`: another process has held it for PATIENCE seconds."""
    until = time.monotonic() + PATIENCE
    with suppress(OSError):
        while not lock_descriptor(descriptor, blocking=False):
            if time.monotonic() >= until:
                raise UserError(otherwise)
            time.sleep(0.05)


def beside(path: Path, name: str) -> Path:
    """A file of that name in the same folder. UserError: `path` is a folder's, as `.` is."""
    if not path.name:
        raise UserError(f"cannot write {path}: it is a folder; give the name of a file")
    return path.with_name(name)


def replace_text(path: Path, text: str) -> None:
    """Let a file hold this text: written beside, synced, renamed. Errors: OSError."""
    draft = beside(path, f".{path.name}.draft")
    with draft.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def write_text(path: Path, text: str) -> None:
    """The same in a folder that is made if need be. Errors: UserError (it cannot be written)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        raise unwritable(path, error) from None


def write_json(path: Path, content: Any) -> None:
    """The same as indented JSON; what JSON has no word for, as nan, is an error (ValueError)."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A hidden file beside `path`, of the same ending, for others to write: then renamed to it.

    The folder is made if need be; where it cannot be written, that shows before the work begins.
    Errors: UserError (it cannot be written).
    """
    draft = beside(path, f".draft.{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch()
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        if error.filename not in (None, str(draft)):
            raise  # of something else that the work needs
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """A folder that can be written to, made if need be. Errors: UserError (it cannot)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise unwritable(folder, error) from None


def new_folder(folder: Path) -> None:
    """A folder that is empty and can be written to, made if need be. Errors: UserError (it is
    not, or cannot)."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists: give another --out, or remove it")
    make_folder(folder)


def next_number(recordings: Path) -> int:
    """The first number behind those of a folder's recordings, NAME-000004.bk2; 0 without any."""
    ends = [path.stem.rpartition("-")[2] for path in recordings.glob("*.bk2")]
    return max((int(end) + 1 for end in ends if end.isdecimal()), default=0)


def file_hash(path: Path) -> str:
    """SHA-256 of a file. Errors: UserError."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; is it still there?") from None


def unwritable(path: Path, error: OSError) -> UserError:
    """What is said of a file or folder that cannot be written."""
    reason = error.strerror or str(error).partition("\n")[0]
    return UserError(f"cannot write {path}: {reason}; give a writable place")


def step_of(checkpoint: Path) -> int:
    """The env steps that a checkpoint's folder is named by."""
    return int(checkpoint.name.removeprefix("step-").removesuffix(ASIDE))


def complete_checkpoints(folder: Path) -> list[Path]:
    """Those in a run's `checkpoints`, oldest first; one put aside goes before its successor."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else []:
        if CHECKPOINT.fullmatch(path.name) and (path / "meta.json").is_file():
            found.append((step_of(path), not path.name.endswith(ASIDE), path))
    return [path for *_, path in sorted(found)]
