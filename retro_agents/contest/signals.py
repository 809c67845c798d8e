"""How a contest's processes are told to leave, and how they say why they left."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

SERVER_GONE = 3
"""Exit code of an agent's side whose server ended otherwise than by a limit."""


def stop(*_: Any) -> None:
    """SIGTERM: leave in order, with the records complete; a second one changes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(143)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """SIGINT and SIGTERM wait for the end of the block; in another thread than the main one, where
    none can come, it is as without."""
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
    """Call `leave`, in a thread, when standard input ends: whoever started this has gone."""

    def wait() -> None:
        os.read(0, 1)
        leave()

    threading.Thread(target=wait, daemon=True).start()
