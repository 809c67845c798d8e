"""Folders in the system's temporary folder, of which nothing stays for long even after a kill."""

import os
import platform
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

from retro_agents.ground.errors import UserError

PREFIX = f"retro-agents-{zlib.crc32(platform.node().encode()):08x}-"
"""With this machine's number: on a shared disk nobody sees the locks of other machines. Short, for
sockets in such a folder below macOS's temporary folder (`contest.wire.socket_folder`)."""
OURS = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
"""The whole name, so that no folder of a user's is taken for one of these."""


@contextmanager
def temporary_folder() -> Iterator[tuple[Path, int]]:
    """Makes a folder, and yields it with a descriptor that locks it. Removes it in the end; and at
    the start those of processes that were killed, whose locks nobody holds. A process that
    inherits the descriptor holds the lock too. Raises UserError if it cannot be made."""
    try:
        place = Path(tempfile.gettempdir())
        for path in place.glob(f"{PREFIX}*"):
            if OURS.fullmatch(path.name):
                remove_unlocked(path)
        draft = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=place))
    except OSError as error:
        advice = "free some space there, or set TMPDIR"
        raise UserError(f"no temporary folder can be made: {error.strerror}; {advice}") from None
    folder = draft.with_name(draft.name[1:])  # no other process looks at it before it is locked
    descriptor = os.open(draft, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: it stays after a kill
            lock_descriptor(descriptor, blocking=False)
        draft.rename(folder)
        yield folder, descriptor
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_unlocked(path: Path) -> None:
    """Removes a folder of this user's if no process holds its lock."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            own = os.fstat(descriptor).st_uid == os.getuid()
            if own and lock_descriptor(descriptor, blocking=False):
                shutil.rmtree(path)
        finally:
            os.close(descriptor)
