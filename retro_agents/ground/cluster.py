"""Ray, on this machine or on a cluster: the one place where it is started."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from retro_agents.ground.errors import UserError

T = TypeVar("T")
STARTS = 3
"""Times that Ray is started here: it gives its processes 30 s, too few for a very busy machine."""


@contextmanager
def ray_on(address: str, *, cpus: int, **options: Any) -> Iterator[Any]:
    """-> the module `ray`, for as long as it is connected.

    address: auto, or HOST:PORT, of a cluster; empty: so many cpus of this machine. options: of
    `ray.init`. UserError: it does not start, or no cluster is there.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    here: dict[str, Any] = {} if address else {"num_cpus": cpus, "include_dashboard": False}
    try:
        if address not in ("", "auto"):  # Ray itself asks for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=10.0).close()
        start = partial(ray.init, address or "local", log_to_driver=False, **here, **options)
        patiently(start, starts=1 if address else STARTS)
    except Exception as error:  # Ray has no class for it
        reason = str(error).partition("\n")[0]
        if not address:
            raise UserError(f"Ray does not start ({reason}); this machine may be busy") from None
        raise UserError(
            f"no Ray cluster at {address} ({reason}); start one with ray start --head, set "
            "RAY_AUTH_MODE=token if it asks for tokens, or leave --ray-address out"
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def patiently(start: Callable[[], T], *, starts: int = STARTS) -> T:
    """Start Ray, at most so many times where its processes take too long -> what `start` gives."""
    for _ in range(starts - 1):
        try:
            return start()
        except Exception as error:  # Ray has no class for it
            if "timed out" not in str(error).lower():
                raise
    return start()
