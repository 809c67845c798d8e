"""Starts an entry's processes where they see neither the season, nor another run, nor a network."""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from retro_agents.ground.errors import UserError
from retro_agents.ground.requirements import IN_CHECKOUT, ROOT
from retro_agents.ground.temporary import temporary_folder

WARDEN = Path(__file__).with_name("warden.py")
"""Not imported, since it needs modules that not every system has."""
LINUX = sys.platform == "linux"
NEW = (
    *("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"),
    *("--ipc", "--net"),
)
SECRET = ("entries", "seasons", "results", "page.md")
"""What tells of the season, or of another entry, in a leaderboard's folder."""

ACCELERATORS = ("nvidia*", "dri", "kfd", "accel*")
"""Devices that an entry of the class cpu may not use."""


def homes() -> list[Path]:
    """Folders in which other copies of the project may be, the outer ones first."""
    found = {Path.home().resolve(), *([ROOT.parent] if IN_CHECKOUT else [])}
    return sorted(path for path in found if not Path("/usr").is_relative_to(path))


@functools.cache
def can_hide() -> bool:
    """Whether this system lets a user hide files from a process (Linux's namespaces)."""
    if not LINUX or shutil.which("unshare") is None:
        return False
    with temporary_folder() as (folder, _):
        (folder / "entry").mkdir()
        process, channel = begun(["true"], folder=folder, board=folder, hide=True)
        with process, channel:
            return process.wait() == 0 and used(channel) is not None


def begun(
    command: Sequence[str],
    *,
    folder: Path,
    board: Path,
    hide: bool,
    slot: int | None = None,
    seconds: float = 0.0,
    environment: dict[str, str] | None = None,
    log: IO[bytes] | None = None,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a command in `folder`/entry, held by `warden`: when the channel closes for writing, it
    ends with all that it started. log: where it writes.

    hide: it cannot read the leaderboard's files, has no network, and can write to `folder` alone.
    slot: which core it gets, for so many seconds of CPU time; None: all cores, without a limit.
    Raises UserError if this system cannot hold it to a core.
    """
    if slot is not None and not LINUX:
        raise UserError("only Linux holds an entry of the class cpu to its limits: score it there")
    cores = [] if slot is None else sorted(os.sched_getaffinity(0))
    boards = (board, ROOT / "leaderboard", ROOT / "docs" / "leaderboard")
    secret = {place / name for place in boards for name in SECRET}
    secret |= {ROOT / ".git", ROOT / "docs" / "dist", ROOT / "build"}
    if slot is not None:
        secret |= {one for name in ACCELERATORS for one in Path("/dev").glob(name)}
    kept = [Path(path).resolve() for path in (ROOT, sys.prefix, sys.base_prefix)]
    folder = folder.resolve()
    files = {
        "folder": str(folder),
        "covered": list(map(str, homes())),
        "kept": list(map(str, kept)),
        "secret": sorted({str(path.resolve()) for path in secret}),
    }
    limits = {
        "home": str(folder / "entry"),
        "core": None if slot is None else cores[slot % len(cores)],
        "seconds": int(seconds) + 1,
    }
    channel, other = socket.socketpair()
    channel.sendall(json.dumps({"hide": files if hide else None, "become": limits}).encode())
    words = [sys.executable, "-I", str(WARDEN), str(other.fileno()), *command]
    with other:
        process = subprocess.Popen(
            [*NEW, *words] if hide else words,
            stdin=subprocess.PIPE,
            stdout=log or subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            process_group=0,
            pass_fds=[other.fileno()],
        )
    return process, channel


def used(channel: socket.socket) -> tuple[float, int] | None:
    """What a command and all that it started took, once they have ended: seconds of CPU time, and
    bytes of memory of the largest process. None if they ended the warden."""
    try:
        seconds, memory = json.loads(channel.recv(1 << 10))
    except (OSError, ValueError):
        return None
    return seconds, memory * 1024
