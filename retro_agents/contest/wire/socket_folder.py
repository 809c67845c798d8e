"""Where the two sides meet: a private folder with a socket for one client."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from filelock import lock_descriptor

from retro_agents.contest.wire.connection import time_left
from retro_agents.contest.wire.protocol import SCREEN, SOCKET
from retro_agents.ground.errors import UserError

LONGEST_PATH = 100
"""Longest path of a socket, in bytes, that every system accepts."""


@contextlib.contextmanager
def meeting_place(directory: Path) -> Iterator[Path]:
    """Both sides' private folder, for one server at a time. Raises UserError if another uses it."""
    folder = private_folder(directory)
    if len(os.fsencode(folder / SOCKET)) > LONGEST_PATH:
        raise UserError(
            f"{folder} is too long a path for a socket: give a shorter --dir, or TMPDIR=/tmp"
        )
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not lock_descriptor(lock, blocking=False):
            raise UserError(f"another server runs in {folder}: give another --dir")
        try:
            yield folder
        finally:
            for name in (SOCKET, SCREEN):
                (folder / name).unlink(missing_ok=True)
    finally:
        os.close(lock)


def private_folder(directory: Path) -> Path:
    """Make `directory` with mode 0700 if missing. Raises UserError if others can open it."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
        mine = found.st_uid == os.geteuid()
        if found.st_mode & 0o077 and mine and not any(directory.iterdir()):
            directory.chmod(0o700)
        elif found.st_mode & 0o077 or not mine:
            raise UserError(
                f"{directory} is open to other users: give a new folder, or chmod 700 your own"
            )
    except OSError as error:
        raise UserError(f"cannot use {directory}: {error.strerror}") from None
    return directory


def accept(path: Path, *, deadline: float) -> socket.socket:
    """Accept the first client that connects; later ones are refused.

    Raises Late or TimeoutError if nobody connects in time.
    """
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with contextlib.suppress(OSError):  # macOS: the folder alone keeps others out
            os.fchmod(listener.fileno(), 0o600)  # before the client can put a link there
        listener.bind(str(beside))
        listener.listen(1)
        beside.rename(path)  # whoever can see the socket can connect
        listener.settimeout(time_left(deadline))
        return listener.accept()[0]
