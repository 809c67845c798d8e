"""Goes on with the other entries where one is at fault: each fault is a line on standard error."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from retro_agents.contest.leaderboard.entry import CACHE, Entry, read_entry
from retro_agents.ground.errors import UserError
from retro_agents.ground.output import printable


@final
class Faults:
    """The names of the entries that were at fault."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Print a UserError of the block, which concerns one entry, in the place of raising it."""
        try:
            yield
        except UserError as error:
            self.names.append(printable(name))
            print(f"error: {error}", file=sys.stderr, flush=True)

    def entries(self, folders: Iterable[Path], board: Path) -> list[Entry]:
        """The entries in these folders, without those that are malformed."""
        found = []
        for folder in folders:
            with self.of(folder.name):
                found.append(read_entry(folder, board))
        return found

    def end(self, *, known: int) -> None:
        """End the command with exit code 2 if one of `known` entries was at fault."""
        if not self.names:
            return
        if known > 1:
            which = ", ".join(self.names)
            print(f"error: {len(self.names)} of {known} entries failed: {which}", file=sys.stderr)
        raise SystemExit(2)


def entries_of(board: Path) -> list[Path]:
    """The folders of a leaderboard's entries, well formed or not."""
    found = sorted(path for path in board.glob("entries/*") if path.is_dir())
    return [path for path in found if path.name != CACHE and not path.name.startswith(".")]
