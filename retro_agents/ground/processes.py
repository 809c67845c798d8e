"""Runs other commands, each in a process of its own, and ends them together with this one."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from retro_agents.ground.errors import UserError

POLL = 0.05
"""Seconds between looks at a process that is running."""
GRACE = 60.0
"""Seconds to save a checkpoint after SIGTERM; then a process is killed."""
ALIKE = 10.0
"""Seconds in which torchrun's first process has failed like the others, see `first_one_speaks`."""
ENDS = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
"""Signals that end a process: from a cluster whose time is up, or a terminal that is closed."""


def ended(
    command: Sequence[str],
    out: IO[Any],
    *,
    errors: IO[Any] | None = None,
    cwd: Path | str | None = None,
    stopping: threading.Event | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, float]:
    """Run a command to its end -> its exit code, and the CPU seconds that it and its children took.

    out: takes what it prints; errors: what it prints on stderr, by default `out` too. Whatever
    interrupts this, or another thread that sets `stopping`, ends the command as well, which saves
    first. Its standard input is a pipe that closes when this process ends, see
    `retro_agents.ground.leash`. It leads a process group, of which nothing is left in the end.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=out,
        stderr=errors or out,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        process_group=0,
    )
    done, deadline = 0, float("inf")
    try:
        while not done:  # Ray's cancelling ends no call that waits
            time.sleep(POLL)
            if stopping is not None and stopping.is_set() and deadline == float("inf"):
                os.kill(process.pid, signal.SIGTERM)  # Popen's own would reap an ended one
                deadline = time.monotonic() + GRACE
            if time.monotonic() > deadline:
                os.kill(process.pid, signal.SIGKILL)
            done, status, used = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
    except BaseException:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        process.kill()
        process.wait()
        raise
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        assert process.stdin is not None
        process.stdin.close()
    return process.returncode, used.ru_utime + used.ru_stime


def announced() -> int:
    """The number of processes that torchrun says it has started; 1 without it."""
    size = os.environ.get("WORLD_SIZE", "")
    return int(size) if size.isdecimal() else 1


@contextlib.contextmanager
def first_one_speaks() -> Iterator[None]:
    """Delays a UserError that all processes of a run raise alike in all but the first: torchrun
    ends these, before they say the same, when the first has ended."""
    try:
        yield
    except UserError:
        if os.environ.get("RANK", "0") != "0":
            time.sleep(ALIKE)
        raise


def hold_leash(leave: Callable[[], None]) -> None:
    """Call `leave`, in a thread, when standard input closes: the parent process has ended."""

    def wait() -> None:
        os.read(0, 1)
        leave()

    threading.Thread(target=wait, daemon=True).start()


def stop(number: int, _: object = None) -> None:
    """Handle SIGTERM or SIGHUP: exit in order; a second signal changes nothing."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


@contextlib.contextmanager
def handling(handler: Callable[[int, Any], None], numbers: Sequence[int]) -> Iterator[None]:
    """Lets a handler have these signals, except those that are ignored or already handled.
    Only the main thread can handle any."""
    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in numbers if here}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    handled = {number: old for number, old in before.items() if old in usual}
    for number in handled:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in handled.items():
            signal.signal(number, old)


def stopped_in_order() -> contextlib.AbstractContextManager[None]:
    """Lets SIGTERM, and SIGHUP unless it is ignored, raise SystemExit, so that this process ends
    what it has started."""
    return handling(stop, ENDS)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Delays SIGINT and ENDS until the end of the block. Outside the main thread, which alone
    receives signals, this does nothing."""
    came: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for held in (signal.SIGINT, *ENDS):
            before[held] = signal.signal(held, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
