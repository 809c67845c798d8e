"""Build one page about contests: retro-agents contest report runs/contest/* --out report.html

The page is self-contained: it loads nothing, and works from a disk or in a mail.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import make_folder, write_text
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import positional


@dataclasses.dataclass(frozen=True)
class ReportConfig:
    """Compare contests on one HTML page: scores, curves, histograms, films."""

    folders: list[Path] = positional("DIR")
    """Folders that `retro-agents contest run` wrote."""
    beside: tuple[str, ...] = ()
    """Stored results to put beside them, on the levels that they played: a contest's result.json,
    or the name of a shipped one, as `retro-agents compare` takes it."""
    out: Path = Path("report.html")
    """HTML file to write."""
    films: bool = True
    """Include the best recorded episode of each level as a film."""
    title: str = "Contest"
    """Title of the page."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Write the page that the command line names."""
    config = parse_command(ReportConfig, argv, command="retro-agents contest report")
    if config.out.is_dir():  # before the films are made
        raise UserError(f"{config.out} is a folder: give the name of a file to --out")
    # Imported here, so that a missing extra is reported in one line.
    from retro_agents.contest.report.contests import best_films, read_entries, read_references
    from retro_agents.contest.report.page import page

    entries = read_entries(config.folders, config.beside)
    references = read_references(entries)
    make_folder(config.out.parent)  # before the films are made
    shown = best_films(entries) if config.films else []
    text = page(entries, references=references, films=shown, title=config.title)
    write_text(config.out, text)
    print(f"{config.out} ({config.out.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
