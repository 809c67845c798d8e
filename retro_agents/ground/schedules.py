"""Schedules: a factor that changes over a run, linear between given points."""

import numpy as np

from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import LARGEST


def parse_schedule(text: str) -> list[tuple[float, float]]:
    """Parses "constant", "linear" or "0:1,0.5:0.3,1:0" to points (part of the run, factor)."""
    named = {"constant": "0:1", "linear": "0:1,1:0"}
    try:
        pairs = (p.split(":") for p in named.get(text, text).split(","))
        points = [(float(part), float(factor)) for part, factor in pairs]
    except ValueError:
        points = []
    parts = [part for part, _ in points]
    fit = all(0.0 <= part <= 1.0 and 0.0 <= factor <= LARGEST for part, factor in points)
    if not points or not fit or parts != sorted(parts):
        raise UserError(
            f"bad schedule {text!r}: expected constant, linear, or points PART:FACTOR, the parts "
            "from 0 to 1 in order, the factors 0 or above, such as 0:1,0.5:0.3,1:0"
        )
    return points


def scheduled(text: str, part: float) -> float:
    """Returns the factor after that part of the run, from 0 to 1: linear between the points."""
    points = parse_schedule(text)
    return float(np.interp(part, [x for x, _ in points], [y for _, y in points]))
