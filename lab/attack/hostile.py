"""Values and bytes that nobody expects."""

import random
from collections.abc import Callable
from typing import Any

from retro_agents.ground.errors import UserError

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63 - 1, -(2**63), 1e308, float("nan"), float("inf")),
    *("", "x", "../../x", "\x1b]0;x\x07\n", "9" * 5000, "nan", b"", b"\0" * 9, [], [[]], {}),
    *({"x": {}}, [0] * 1000),
)


def one_line(work: Callable[[], object]) -> str:
    """Does some work: "" if it succeeds, or is refused by a UserError; otherwise how it failed."""
    try:
        work()
    except UserError:
        return ""
    except SystemExit as stop:
        return "" if stop.code in (0, None, 2) else f"exit code {stop.code}"
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0][:300]
    return ""


def changed(rng: random.Random, value: Any, depth: int = 0) -> Any:
    """The value with one part replaced, lost, repeated, or buried deeply."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value, key=repr))
        rest = {name: one for name, one in value.items() if name != key}
        if rng.random() < 0.15:
            return rest
        if rng.random() < 0.05:
            return {**rest, rng.choice(["", "x", "__class__"]): value[key]}
        return {**value, key: changed(rng, value[key], depth + 1)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return rng.choice([value[:at], value + value[at:], value[::-1]])
        return [*value[:at], changed(rng, value[at], depth + 1), *value[at + 1 :]]
    if rng.random() < 0.05:
        for _ in range(rng.choice([10, 900, 5000])):
            value = [value]
        return value
    if isinstance(value, int | float) and rng.random() < 0.3:
        return rng.choice([-value, value + 1, value * 10**6, str(value)])
    return rng.choice(VALUES)


def harmed(rng: random.Random, data: bytes) -> bytes:
    """The bytes with some flipped, lost, repeated, zeroed, or added."""
    at, size = rng.randrange(len(data) + 1), rng.randrange(1, 5000)
    flipped = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 30])):
        if flipped:
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return rng.choice(
        [
            bytes(flipped),
            data[:at],
            data[:at] + data[at + size :],
            data[:at] + bytes(min(size, len(data) - at)) + data[at + size :],
            data + rng.randbytes(size),
            data[:at] + data,
            b"",
            rng.randbytes(size),
        ]
    )
