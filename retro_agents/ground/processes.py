"""Runs other commands, each in a process of its own."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

POLL = 0.05
"""Seconds between looks at a process that is running."""


def ended(
    command: Sequence[str],
    out: IO[Any],
    *,
    errors: IO[Any] | None = None,
    cwd: Path | str | None = None,
    **environment: str,
) -> tuple[int, float]:
    """Wait for a command -> its exit code, and the CPU seconds that it and its own processes took.

    out: takes what it prints; errors: what it prints on stderr, by default `out` too. An interrupt
    here ends the command as well, which saves first.
    """
    process = subprocess.Popen(
        command, stdout=out, stderr=errors or out, cwd=cwd, env={**os.environ, **environment}
    )
    done = 0
    try:
        while not done:  # Ray's cancelling ends no call that waits
            time.sleep(POLL)
            done, status, used = os.wait4(process.pid, os.WNOHANG)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime
