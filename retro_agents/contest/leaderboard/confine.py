"""Starts an entry's process on one core, and where it sees neither the season nor a network."""

import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from retro_agents.ground.requirements import ROOT

ON_A_CORE = (
    "import os, resource, sys; core, seconds = map(int, sys.argv[1:3]); "
    "os.sched_setaffinity(0, [core]); resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)
NEW = ("unshare", "--user", "--map-root-user", "--mount")
HIDE = (
    'while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 1; shift; done; shift; '
    f'exec {" ".join(NEW)} "$@"'
)
"""Covers folders with empty ones, which the second namespace locks, so that none is uncovered."""
SECRET = ("leaderboard/seasons", "leaderboard/results", ".git")
"""Folders of the project that tell of the season."""


@functools.cache
def can_hide() -> bool:
    """Whether this system lets a user cover folders for a process (Linux's namespaces)."""
    try:
        tried = subprocess.run([*hidden([], board=Path("/nowhere")), "true"], capture_output=True)
    except OSError:  # no unshare
        return False
    return tried.returncode == 0


def hidden(command: Sequence[str], *, board: Path) -> list[str]:
    """The command, without a network and with the leaderboard's folders empty; what it writes there
    is lost."""
    places = [*(ROOT / name for name in SECRET), board / "seasons", board / "results"]
    there = [str(path.resolve()) for path in dict.fromkeys(places) if path.is_dir()]
    return [*NEW, "--net", "sh", "-c", HIDE, "sh", *dict.fromkeys(there), "--", *command]


def on_a_core(command: Sequence[str], *, slot: int, seconds: float) -> list[str]:
    """The command on one core, ended when it has used so much CPU time."""
    cores = sorted(os.sched_getaffinity(0))
    core = str(cores[slot % len(cores)])
    return [sys.executable, "-P", "-c", ON_A_CORE, core, str(int(seconds) + 1), *command]
