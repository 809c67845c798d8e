# PYTHON_ARGCOMPLETE_OK
"""Check results of the leaderboard: play their recordings anew and compute the scores again.

retro-agents leaderboard check leaderboard/entries/my-agent
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from retro_agents.contest.leaderboard.entry import read_entry
from retro_agents.contest.leaderboard.result import FILE, folder_of, verified
from retro_agents.contest.leaderboard.score import BOARD, line
from retro_agents.contest.leaderboard.season import current_season
from retro_agents.ground.errors import command
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field


@dataclasses.dataclass(frozen=True)
class CheckConfig:
    """Play the recordings of entries again, and refuse a result that they do not prove."""

    entries: tuple[Path, ...] = field((), metavar="ENTRY")
    """Entries' folders; default: of all that have a result."""
    board: Path = field(BOARD, needs=("scipy",))
    """The leaderboard's folder."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Check the entries that the command line names."""
    config = parse_command(CheckConfig, argv, command="retro-agents leaderboard check")
    season = current_season(config.board)
    scored = sorted(folder_of(config.board, season, "").glob(f"*/{FILE}"))
    folders = config.entries or [config.board / "entries" / path.parent.name for path in scored]
    for folder in folders:
        entry = read_entry(folder, config.board)
        print(f"{line(verified(entry, season, config.board))}: as recorded", flush=True)


if __name__ == "__main__":
    main()
