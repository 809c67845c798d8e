# PYTHON_ARGCOMPLETE_OK
"""Open a season of the leaderboard: draw a seed, and make acts of it that nobody has seen.

retro-agents leaderboard open
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name

from retro_agents.contest.leaderboard.faults import Faults, entries_of
from retro_agents.contest.leaderboard.score import BOARD
from retro_agents.ground.errors import command
from retro_agents.ground.ranges import Count
from retro_agents.run.command_line import parse_command

MAKER = "cartridge.levels.season:open_season"
"""Makes the acts, as MODULE:NAME; imported on demand."""


@dataclasses.dataclass(frozen=True)
class OpenConfig:
    """Open a season: draw its seed and its acts, each of another zone, and write down which entries
    are there."""

    board: Path = BOARD
    """The leaderboard's folder."""
    acts: Count = 10
    """Number of acts; all entries play the same ones."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Open a season."""
    config = parse_command(OpenConfig, argv, command="retro-agents leaderboard open")
    faults = Faults()
    print(resolve_name(MAKER)(config.board, acts=config.acts, faults=faults))
    faults.end(known=len(entries_of(config.board)))


if __name__ == "__main__":
    main()
