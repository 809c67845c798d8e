"""Which process writes to a run, by the lock on the run's folder; and how it is stopped."""

import fcntl
import os
import signal
from contextlib import suppress
from functools import cache
from pathlib import Path

from retro_agents.ground.errors import UserError

LOCKS = Path("/proc/locks")
"""Where Linux lists all locks."""
FIRST = 0xEFFFFFFC
"""Inode of Linux's first PID namespace. In another one, as in a container, LOCKS lists only what
its own processes hold."""
Locks = dict[int, list[int]]
"""Inode of a locked file or folder -> the processes that hold it."""
UNKNOWN = -1
"""The writer where the system does not say which process it is."""


def locks() -> Locks | None:
    """All locks of whole files on this machine; None where the system has no list."""
    found: Locks = {}
    try:
        lines = LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if words[1:2] == ["FLOCK"] and len(words) > 5:
            found.setdefault(int(words[5].rpartition(":")[2]), []).append(int(words[4]))
    return found


def writer_of(folder: Path, known: Locks | None) -> int:
    """The process that writes to a run; 0 if there is none. Raises OSError.

    known: from `locks`. An inode's number may occur on several disks, so the process must have the
    folder open.
    """
    if known is None:
        return UNKNOWN if is_locked(folder) else 0
    here, hidden = folder.stat(), not sees_all()
    for pid in known.get(here.st_ino, ()):
        try:
            with os.scandir(f"/proc/{pid}/fd") as files:
                if any(same(file, here) for file in files):
                    return pid
        except OSError:  # another user's, or another container's, which has the number 0
            hidden = True
    return UNKNOWN if hidden and is_locked(folder) else 0


@cache
def sees_all() -> bool:
    """Whether LOCKS lists the locks of all processes of this machine."""
    with suppress(OSError):
        return Path("/proc/self/ns/pid").stat().st_ino == FIRST
    return True


def same(file: os.DirEntry[str], here: os.stat_result) -> bool:
    """Whether a process's open file is this one; it may be closed at any moment."""
    with suppress(OSError):
        return os.path.samestat(file.stat(), here)
    return False


def is_locked(folder: Path) -> bool:
    """Whether another process has locked a folder. Tries a shared lock: several threads may try."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def catches(pid: int, number: int) -> bool:
    """Whether a process handles a signal by a function of its own."""
    with suppress(OSError, IndexError, ValueError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        mask = int(status.partition("SigCgt:")[2].split()[0], 16)
        return bool(mask >> (number - 1) & 1)
    return False


def stop(folder: Path) -> None:
    """Ask the process that writes to a run to save and end. Raises UserError if there is none, or
    if it would end without saving."""
    pid = writer_of(folder, locks())
    if not pid:
        raise UserError("no process of this machine writes to this run")
    if pid == UNKNOWN:
        raise UserError(
            "this system does not say which process writes to this run: press Ctrl-C where it was "
            "started"
        )
    # One that a shell has started in the background ignores the first of these.
    number = next((one for one in (signal.SIGINT, signal.SIGTERM) if catches(pid, one)), None)
    if number is None:
        raise UserError("this run would end without saving: press Ctrl-C where it was started")
    try:
        os.kill(pid, number)
    except OSError as error:
        raise UserError(f"process {pid} cannot be stopped from here: {error.strerror}") from None
