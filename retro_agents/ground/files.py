"""Atomic files: a file is complete or absent, even if its writer is killed."""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any

from filelock import lock_descriptor

from retro_agents.ground.errors import UserError

ASIDE = ".replaced"
"""Suffix of a checkpoint's name while another takes its place."""
CHECKPOINT = re.compile(rf"step-\d+({re.escape(ASIDE)})?")
"""Names of checkpoint folders."""
HOLDS = {
    "contest.json": "a contest",
    "meta.json": "a checkpoint",
    "config.json": "a run",
    "metrics.csv": "a run",
    **dict.fromkeys(("todo.json", "search.json", "population.json"), "a sweep"),
    "result.json": "an evaluation",
}
"""A file in a folder -> what the folder then holds."""
FILES = (".bk2", ".json", ".mp4")
"""Suffixes that a folder's name lacks."""
PATIENCE = 5.0
"""Seconds to wait for a lock: the children of a killed process may live a moment longer."""


def wait_for_lock(descriptor: int, *, otherwise: str) -> None:
    """Locks an open file or folder until it is closed; where the file system supports no locks,
    warns once. Raises UserError with the text `otherwise` if another process holds it for PATIENCE
    seconds."""
    until = time.monotonic() + PATIENCE
    try:
        while not lock_descriptor(descriptor, blocking=False):
            if time.monotonic() >= until:
                raise UserError(otherwise)
            time.sleep(0.05)
    except OSError as error:
        warn_without_locks(error.strerror)


@cache
def warn_without_locks(reason: str | None) -> None:
    """Warns, once per reason, that nothing keeps a second process out of a folder."""
    advice = "do not let two commands write to one folder there"
    print(f"warning: the file system supports no locks ({reason}): {advice}", file=sys.stderr)


def beside(path: Path, name: str) -> Path:
    """Returns the path of a file of that name in the same folder. Raises UserError if `path` is
    a folder such as `.`."""
    if not path.name:
        raise UserError(f"cannot write {path}: it is a folder; give the name of a file")
    return path.with_name(name)


UNSYNCED = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""Errors of file systems that cannot sync a file or a folder, such as some network file systems."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of a full disk."""


def sync(descriptor: int) -> None:
    """Forces an open file or folder to the disk, if its file system can do that. Raises OSError."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSYNCED:
            raise


def sync_folder(folder: Path) -> None:
    """Forces a folder's entries to the disk, as `sync` does."""
    if sys.platform == "win32":  # opens no folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        sync(handle)
    finally:
        os.close(handle)


def move_folder(folder: Path, target: Path) -> None:
    """Renames a folder. Where it cannot be renamed, because it is on a lower layer of an overlay,
    copies and removes it: at any moment one of the two is whole. Raises OSError."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        draft = target.with_name(f".draft-{target.name}")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(folder, draft, symlinks=True)
        draft.rename(target)
        remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Removes a folder, so that a kill leaves none that looks complete. Raises OSError."""
    doomed = folder.with_name(f".draft-{folder.name}")
    try:
        folder.rename(doomed)
    except OSError:  # on a lower layer, see `move_folder`
        for name in ("meta.json", "result.json"):  # without these it counts for nothing
            (folder / name).unlink(missing_ok=True)
        doomed = folder
    shutil.rmtree(doomed)


def replace_text(path: Path, text: str) -> None:
    """Replaces a file's text atomically: writes beside it, syncs, renames. Characters that UTF-8
    lacks, as in the names of some files, are written as escapes. Raises OSError."""
    draft = beside(path, f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        with draft.open(  # x: through no link of others
            "x", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            file.write(text)
            file.flush()
            sync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Replaces a file's text, and makes its folder. Raises UserError if it cannot be written."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)


def write_json(path: Path, content: Any) -> None:
    """Writes indented JSON as `write_text` does. Raises ValueError for nan, which JSON lacks."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yields a hidden file beside `path` to write, with the same suffix, then renames it to `path`.

    Makes the folder if it is missing. Raises UserError, before the work begins, if `path` cannot
    be written.
    """
    draft = beside(path, f".draft.{path.name}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch()
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        if error.filename not in (None, str(draft)):
            raise  # the error concerns another file
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def drafted_folder(folder: Path) -> Iterator[Path]:
    """Yields an empty folder beside `folder`, which becomes it at the end if nothing is raised.
    Raises UserError if another process has made `folder` meanwhile."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft.") as temporary:
        draft = Path(temporary) / folder.name
        draft.mkdir()
        yield draft
        try:
            draft.rename(folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            raise UserError(f"another process has just made {folder}: run this again") from None


def folders_of(text: str) -> list[str]:
    """The folders and files that commas join; a name may have commas too, as a sweep's run."""
    found, rest = [], ""
    for part in text.split(","):
        rest = f"{rest},{part}" if rest else part
        with suppress(OSError):  # what is joined may be too long for a name
            if rest and Path(rest).exists():
                found.append(rest)
                rest = ""
    return [*found, rest] if rest else found


def check_folder_name(folder: Path) -> None:
    """Raises UserError if a folder that is to be made has the name of a file."""
    if folder.suffix in FILES and not folder.exists():
        name = folder.with_suffix("")
        raise UserError(f"{folder} would be a folder: give one, such as {name}, for all the files")


def make_folder(folder: Path) -> None:
    """Makes a folder if it is missing. Raises UserError if it is not writable, or has the name of a
    file."""
    check_folder_name(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


@contextmanager
def folder_for(folder: Path, *, made: bool = False) -> Iterator[None]:
    """Makes a folder if it is missing. If the block raises and has left it empty, removes it again,
    with the parents that it made. made: the caller has just made it. Raises UserError if it is not
    writable."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # such as one that is not empty
            for path in missing or [folder] * made:
                path.rmdir()
        raise


@contextmanager
def all_or_nothing(folder: Path, *also: Path) -> Iterator[None]:
    """If the block raises, removes all that is new in the folder, and these files of it. Others
    must not write to it."""
    before = {*folder.iterdir()}.difference(also)
    try:
        yield
    except BaseException:
        for path in {*folder.iterdir()} - before:
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def new_folder(folder: Path) -> None:
    """Makes a folder if it is missing. Raises UserError if it is not empty or not writable."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} exists: give another --out, or remove it")
    make_folder(folder)


def why_no_run(path: Path) -> str:
    """Returns why a path holds no run; "" if it is a folder of anything else."""
    if not path.is_dir():
        return "it is a file, not a folder" if path.exists() else "there is no such folder"
    if any(path.glob("*/checkpoints")) or any(path.glob("*/*/checkpoints")):
        return f"it holds runs, which `retro-agents list runs --of {quote(str(path))}` lists"
    return ""


def held_by(folder: Path) -> str:
    """Returns what a folder holds already, such as "a run"; "" if a run, a contest or an evaluation
    can begin there."""
    held = [what for name, what in HOLDS.items() if (folder / name).exists()]
    return held[0] if held else "other runs" * any(folder.glob("*/config.json"))


def next_number(recordings: Path) -> int:
    """Returns the next free number for a folder's recordings, NAME-000004.bk2; 0 if it has none."""
    ends = [path.stem.rpartition("-")[2] for path in recordings.glob("*.bk2")]
    return max((int(end) + 1 for end in ends if end.isdecimal()), default=0)


def number_of(recordings: Path, name: str, number: int, *, again: int) -> int:
    """Returns the number of a folder's next recording NAME-000004.bk2: `number`, or the next free
    one if another environment has that file. Those below `again` are this environment's own."""
    taken = number >= again and (recordings / f"{name}-{number:06d}.bk2").exists()
    return next_number(recordings) if taken else number


def file_hash(path: Path) -> str:
    """Returns the SHA-256 of a file. Raises UserError if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; is it still there?") from None


def unwritable(path: Path, error: OSError) -> UserError:
    """Returns the error for a file or folder that cannot be written."""
    reason = error.strerror or str(error).partition("\n")[0]
    if isinstance(error, FileExistsError):
        return UserError(f"cannot write {path}: it is a file; give a folder")
    advice = "free some space there" if error.errno in FULL else "give a writable place"
    return UserError(f"cannot write {path}: {reason}; {advice}")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an OSError into the UserError that the file or folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def step_of(checkpoint: Path) -> int:
    """Returns the env steps in the name of a checkpoint's folder."""
    return int(checkpoint.name.removeprefix("step-").removesuffix(ASIDE))


def complete_checkpoints(folder: Path) -> list[Path]:
    """Returns a run's complete checkpoints, oldest first; a replaced one precedes its successor."""
    inside = folder.iterdir() if folder.is_dir() else ()
    found = [p for p in inside if CHECKPOINT.fullmatch(p.name) and (p / "meta.json").is_file()]
    return sorted(found, key=lambda path: (step_of(path), not path.name.endswith(ASIDE)))
