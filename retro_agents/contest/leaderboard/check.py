# PYTHON_ARGCOMPLETE_OK
"""Check results of the leaderboard: play their recordings anew and compute the scores again.

retro-agents leaderboard check leaderboard/entries/*/
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from retro_agents.contest.leaderboard.entry import read_entry
from retro_agents.contest.leaderboard.result import verified
from retro_agents.contest.leaderboard.score import BOARD, line
from retro_agents.contest.leaderboard.season import current_season
from retro_agents.ground.errors import command
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field, positional


@dataclasses.dataclass(frozen=True)
class CheckConfig:
    """Play the recordings of entries anew, and refuse a result that says anything else."""

    entries: list[Path] = positional("ENTRY")
    """Entries' folders."""
    board: Path = field(BOARD, needs=("scipy",))
    """The leaderboard's folder."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Check the entries that the command line names."""
    config = parse_command(CheckConfig, argv, command="retro-agents leaderboard check")
    season = current_season(config.board)
    for entry in map(read_entry, config.entries):
        print(f"{line(verified(entry, season, config.board))}: as recorded", flush=True)


if __name__ == "__main__":
    main()
