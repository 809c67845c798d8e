"""Ray, on this machine or on a cluster: the one place where it is started."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from experiment.errors import UserError


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
        ray.init(address or "local", log_to_driver=False, **here, **options)
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
