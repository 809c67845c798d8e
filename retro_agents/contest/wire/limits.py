"""A client's limits: steps and time."""

import re
from dataclasses import dataclass
from typing import Any, final

from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Positive, check

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@final
@dataclass(frozen=True)
class Limits:
    """The limits of one level. Times are in seconds."""

    timesteps: Count = 1_000_000
    wall_clock: Positive = 12 * 3600.0
    """From the start of the server."""
    stall: Positive = 600.0
    """From an answer to the next request, and from the start to the client."""

    def __post_init__(self) -> None:
        check(self)


def parse_seconds(text: str) -> float:
    """12h, 90m, 30s, 3600 -> seconds. Raises UserError if the text is no length of time."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if found is None:
        raise UserError(f"{text!r} is no length of time: give 12h, 90m, 30s or seconds")
    return float(found[1]) * UNITS[found[2]]


def limits_of(config: Any) -> Limits:
    """The limits of --timesteps, --wall-clock and --stall. Raises UserError if one is malformed."""
    wall_clock, stall = map(parse_seconds, (config.wall_clock, config.stall))
    return Limits(config.timesteps, wall_clock, stall)
