"""Levels of BrambleDash: write, draw, prove and measure them."""

from contextlib import suppress
from pathlib import Path

from retro_agents.games.retro.bramble import GAME
from retro_agents.ground.errors import Parser, UserError, command


def emit() -> None:
    """Write the C data and the splits."""
    from cartridge.levels.emit import emit as write
    from retro_agents.games.retro.splits import SPLITS

    for path in write(split_folder=SPLITS):
        print(path)


def pack() -> None:
    """Write the acts and art for the game without an emulator."""
    from cartridge.build_states import FOLDER
    from cartridge.levels.pack import write

    print(write(FOLDER))


def preview(out: Path) -> None:
    """Draw all acts and sprites as PNG."""
    from cartridge.levels.preview import write

    for path in write(out):
        print(path)


def prove() -> None:
    """Find a way through every act and write the proofs."""
    from cartridge.levels.console import open_console
    from cartridge.levels.generator import all_acts
    from cartridge.levels.oracle import prove_all

    with open_console() as console:
        for level, status in prove_all(all_acts(), console):
            print(f"{level}: finished in {status.frame} frames, return {status.score:.0f}")


def references(game: str, episodes: int) -> None:
    """Measure the reference players on a cartridge and write its references.csv."""
    from cartridge.levels.fresh import acts_of, folder_of, proofs_of
    from cartridge.levels.references import means, write
    from cartridge.levels.robust import measure_all
    from retro_agents.games.retro.bramble import REFERENCES
    from retro_agents.ground.files import make_folder

    table = REFERENCES if game == GAME else folder_of(game) / REFERENCES.name
    acts = acts_of(game)
    make_folder(table.parent)  # before the search, which takes long
    rows = []
    for row in measure_all(acts, episodes=episodes, proofs=proofs_of(game)):
        rows.append(row)
        print(f"{row.level} {row.agent}: {row.mean_return:.0f}", flush=True)
    write(rows, table)
    for agent, mean in means(rows).items():
        print(f"mean over levels, {agent}: {mean:.0f}")


def likeness(seeds: int) -> None:
    """Measure how similar acts are, and write likeness.json."""
    from cartridge.levels.likeness import write

    for view, runs in write(seeds).items():
        print(view, runs)


def new(seeds: range, out: Path) -> None:
    """Make cartridges with other acts: pack, proofs, split; with a compiler also ROM and states."""
    from cartridge.levels.fresh import COMPILER, has_compiler, make_all

    for path in make_all(seeds, out=out):
        print(path)
    if not has_compiler():
        needs = f"a checkout, stable-retro, {COMPILER} and make"
        print(f"runs only without an emulator: a ROM needs {needs}")


def seed_range(text: str) -> range:
    """Parses '7' to 7, and '2-21' to 2 to 21. Raises UserError for any other text."""
    first, dash, last = text.rpartition("-")
    ends = (first, last) if first and dash else (text, text)
    with suppress(ValueError):
        if found := range(int(ends[0]), int(ends[1]) + 1):
            return found
    raise UserError(f"--seeds {text}: expected a number such as 7, or a range such as 2-21")


def gallery(out: Path | None) -> None:
    """Draw the title and a moment of every zone as one PNG."""
    from cartridge.levels.gallery import GALLERY, write_gallery
    from cartridge.levels.generator import all_acts

    print(write_gallery(all_acts(), path=out or GALLERY))


@command
def main() -> None:
    """Run one of the tools."""
    parser = Parser(prog="python -m cartridge.levels", description=__doc__)
    tools = parser.add_subparsers(dest="tool", required=True)
    tools.add_parser("emit", help=emit.__doc__)
    tools.add_parser("pack", help=pack.__doc__)
    drawn = tools.add_parser("preview", help=preview.__doc__)
    drawn.add_argument("--out", type=Path, default=Path("preview"), help="folder for the PNG")
    tools.add_parser("prove", help=prove.__doc__)
    measured = tools.add_parser("references", help=references.__doc__)
    measured.add_argument("game", nargs="?", default=GAME, help="name of a cartridge (see `new`)")
    measured.add_argument(
        "--episodes", type=int, default=200, help="the robust oracle's practice episodes on an act"
    )
    alike = tools.add_parser("likeness", help=likeness.__doc__)
    alike.add_argument("--seeds", type=int, default=10, help="cartridges that are compared")
    fresh = tools.add_parser("new", help=new.__doc__)
    fresh.add_argument(
        "--seed",
        "--seeds",
        dest="seeds",
        type=seed_range,
        required=True,
        help="seed of the acts; a range such as 2-21 makes a cartridge each, and one split",
    )
    fresh.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for the games' folders and a CSV of their levels",
    )
    tools.add_parser("gallery", help=gallery.__doc__).add_argument("--out", type=Path)
    args = vars(parser.parse_args())
    tools_here = (emit, pack, preview, prove, references, likeness, new, gallery)
    calls = {f.__name__: f for f in tools_here}
    calls[args.pop("tool")](**args)


if __name__ == "__main__":
    main()
