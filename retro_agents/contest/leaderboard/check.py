# PYTHON_ARGCOMPLETE_OK
"""Check results of the leaderboard: play their recordings anew and compute the scores again.

retro-agents leaderboard check leaderboard/entries/my-agent
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from retro_agents.contest.leaderboard.faults import Faults
from retro_agents.contest.leaderboard.result import FILE, folder_of, verified
from retro_agents.contest.leaderboard.score import BOARD, line
from retro_agents.contest.leaderboard.season import current_season
from retro_agents.contest.leaderboard.season import folders as seasons
from retro_agents.ground.errors import command
from retro_agents.ground.ranges import Count
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field


@dataclasses.dataclass(frozen=True)
class CheckConfig:
    """Check that entries are well formed, play their recordings again, and refuse a result that
    these do not prove."""

    entries: tuple[Path, ...] = field((), metavar="ENTRY")
    """Entries' folders, scored or not; default: of all that have a result."""
    board: Path = field(BOARD, needs=("scipy",))
    """The leaderboard's folder."""
    season: Count | None = None
    """The season's number; default: the newest."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Check the entries that the command line names."""
    config = parse_command(CheckConfig, argv, command="retro-agents leaderboard check")
    board, faults, season = config.board, Faults(), None
    if not config.entries or config.season or seasons(board):
        season = current_season(board, config.season)
    where = f"season {season.number}" if season else "any season"
    scored = sorted(folder_of(board, season, "").glob(f"*/{FILE}")) if season else []
    folders = config.entries or [board / "entries" / path.parent.name for path in scored]
    for entry in faults.entries(folders, board):
        with faults.of(entry.name):
            if season and (folder_of(board, season, entry.name) / FILE).exists():
                print(f"{line(verified(entry, season, board))}: as recorded", flush=True)
            else:
                print(f"{entry.name}: well formed, and without a result in {where}", flush=True)
    if not folders:
        print(f"no entry has a result in {where}")
    faults.end(known=len(folders))


if __name__ == "__main__":
    main()
