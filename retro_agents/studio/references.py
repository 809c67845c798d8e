"""What random play and the oracle reach on a level, where that is known."""

import csv
import functools

from retro_agents.games.retro.bramble import GAME, REFERENCES


@functools.cache
def table() -> dict[tuple[str, str], float]:
    """(GAME:STATE, player) -> mean return."""
    with REFERENCES.open(newline="", encoding="utf-8") as file:
        return {
            (f"{GAME}:{row['level']}", row["agent"]): float(row["mean_return"])
            for row in csv.DictReader(file)
        }


def reference(level: str, player: str) -> float | None:
    """A player's mean return on a level, or None."""
    return table().get((level, player))
