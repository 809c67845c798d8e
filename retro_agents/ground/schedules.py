"""What changes over a run: factors at points of it, joined by straight lines."""

import numpy as np

from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import LARGEST


def parse_schedule(text: str) -> list[tuple[float, float]]:
    """Points (part of the run, factor) of "constant", "linear" or "0:1,0.5:0.3,1:0"."""
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
            f"bad schedule {text!r}: expected constant, linear, or points part:factor, the parts "
            "from 0 to 1 in order, the factors 0 or above, such as 0:1,0.5:0.3,1:0"
        )
    return points


def scheduled(text: str, part: float) -> float:
    """The factor after that part (0 to 1) of the run: straight lines between the points."""
    points = parse_schedule(text)
    return float(np.interp(part, [x for x, _ in points], [y for _, y in points]))
