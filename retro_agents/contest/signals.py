"""How a contest's records are kept whole, and the exit codes that say why its processes ended."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

SERVER_GONE = 3
"""Exit code of an agent's side whose server ended for another reason than a limit."""


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
