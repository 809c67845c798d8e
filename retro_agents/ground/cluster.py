"""Ray, on this machine or on a cluster; started only here."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from retro_agents.ground.errors import UserError

T = TypeVar("T")
STARTS = 3
"""Attempts to start Ray, whose limit of 30 s for its processes is short for a busy machine."""


@contextmanager
def ray_on(address: str, *, cpus: int, **options: Any) -> Iterator[Any]:
    """Connects to Ray, and yields the module `ray` while it is connected.

    address: auto or HOST:PORT of a cluster; if empty, Ray starts here with `cpus` CPUs. options: of
    `ray.init`. Raises UserError if Ray does not start or finds no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    here: dict[str, Any] = {} if address else {"num_cpus": cpus, "include_dashboard": False}
    try:
        if address not in ("", "auto"):  # Ray itself retries for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=10.0).close()
        start = partial(ray.init, address or "local", log_to_driver=False, **here, **options)
        patiently(start, starts=1 if address else STARTS)
    except Exception as error:  # Ray has no class for it
        reason = str(error).partition("\n")[0]
        if not address:
            busy = "this machine may be busy"
            advice = "give a shorter TMPDIR, such as /tmp" if "AF_UNIX" in reason else busy
            raise UserError(f"Ray does not start ({reason}); {advice}") from None
        raise UserError(
            f"no Ray cluster at {address} ({reason}); start one with ray start --head, set "
            "RAY_AUTH_MODE=token if it asks for tokens, or leave --ray-address out"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def handler_kept(number: int) -> Iterator[None]:
    """Restores this process's handler of a signal, which Ray replaces for good: its handler of
    SIGTERM would end the process before it could save, and Ray Tune's of SIGINT does nothing once
    Tune has ended."""
    before = signal.getsignal(number)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, before)


@handler_kept(signal.SIGTERM)
def patiently(start: Callable[[], T], *, starts: int = STARTS) -> T:
    """Returns `start()`, tried up to `starts` times while Ray's processes take too long."""
    for _ in range(starts - 1):
        try:
            return start()
        except Exception as error:  # Ray has no class for it
            if "timed out" not in str(error).lower():
                raise
    return start()
