"""How a contest's processes are stopped, and the exit codes that say why they ended."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

SERVER_GONE = 3
"""Exit code of an agent's side whose server ended for another reason than a limit."""


def stop(*_: Any) -> None:
    """Handle SIGTERM: exit in order, with complete records; a second signal changes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(143)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the end of the block. Outside the main thread, which alone
    receives signals, this does nothing."""
    came: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for held in (signal.SIGINT, signal.SIGTERM):
            before[held] = signal.signal(held, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def hold_leash(leave: Callable[[], None]) -> None:
    """Call `leave`, in a thread, when standard input closes: the parent process has ended."""

    def wait() -> None:
        os.read(0, 1)
        leave()

    threading.Thread(target=wait, daemon=True).start()
