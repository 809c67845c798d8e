"""Import your own ROMs: `retro-agents import-roms DIR…`.

Reports which game each file is, by its SHA-1 and stable-retro's list, or why it is none. ROMs are
copied to stable-retro's own data folder, as `python -m stable_retro.import` does. The 2018
contest's custom levels come with stable-retro as deltas (`rom.delta`) against the Sonic ROMs; they
are built when their ROM is there.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from retro_agents.games.retro.rom_library import (
    Library,
    Line,
    build_games,
    import_files,
    still_wanted,
)
from retro_agents.ground.errors import Parser, command
from retro_agents.ground.output import printable


def report(lines: Iterable[Line]) -> Counter[str]:
    """Print the lines. Returns the number of each kind."""
    count: Counter[str] = Counter()
    for line in lines:
        print(line)
        count[line.what] += 1
    return count


@command
def main() -> None:
    """The command line. Exit code 1: no file is a wanted ROM."""
    from retro_agents.games.retro.doctor import split_fact
    from retro_agents.games.retro.splits import split_names

    parser = Parser(prog="retro-agents import-roms", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR", help="folders, or files")
    paths = parser.parse_args().paths
    library = Library()
    files = report(import_files(library, paths))
    if not files:
        print(f"no file in {printable(', '.join(map(str, paths)))}")
    count = files + report(build_games(library))
    print(f"{count['imported']} imported, {count['there']} there already, {count['built']} built")
    report(still_wanted(library))
    for split in split_names():
        if split.startswith("sonic"):
            print(split_fact(split).text)
    if not files["imported"] + files["there"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
