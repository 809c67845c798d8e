"""Levels of BrambleDash: write, look at, prove and measure them."""

import argparse
from pathlib import Path

from experiment.errors import command


def emit() -> None:
    """Write the C data and the splits."""
    from cartridge.levels.emit import emit as write

    for path in write():
        print(path)


def preview(out: Path) -> None:
    """Draw all acts and sprites as PNG."""
    from cartridge.levels.preview import write

    for path in write(out):
        print(path)


def prove() -> None:
    """Find a way through every act and write the proofs."""
    from cartridge.levels.console import open_console
    from cartridge.levels.oracle import prove_all

    with open_console() as console:
        for level, status in prove_all(console):
            print(f"{level}: finished in {status.frame} frames, return {status.score:.0f}")


def references() -> None:
    """Measure the reference players and write references.csv."""
    from cartridge.levels.console import open_console
    from cartridge.levels.references import means, measure_all, write

    rows = []
    with open_console() as console:
        for row in measure_all(console):
            rows.append(row)
            print(f"{row.level} {row.agent}: {row.mean_return:.0f}", flush=True)
    write(rows)
    for agent, mean in means(rows).items():
        print(f"mean over levels, {agent}: {mean:.0f}")


def gallery(out: Path | None) -> None:
    """Draw the title and a moment of play of every zone as one PNG."""
    from cartridge.levels.gallery import GALLERY, write_gallery
    from cartridge.levels.generator import all_acts

    print(write_gallery(all_acts(), path=out or GALLERY))


def film(out: Path | None) -> None:
    """Film the oracle in three zones, 30 seconds: a .gif, or an .mp4 of 30 frames a second."""
    from cartridge.levels.film import FILM, write_film
    from cartridge.levels.generator import all_acts

    print(write_film(all_acts(), path=out or FILM))


@command
def main() -> None:
    """Run one of the tools."""
    parser = argparse.ArgumentParser(prog="python -m cartridge.levels", description=__doc__)
    tools = parser.add_subparsers(dest="tool", required=True)
    tools.add_parser("emit", help=emit.__doc__)
    drawn = tools.add_parser("preview", help=preview.__doc__)
    drawn.add_argument("--out", type=Path, default=Path("preview"), help="folder for the PNG")
    tools.add_parser("prove", help=prove.__doc__)
    tools.add_parser("references", help=references.__doc__)
    for tool in (gallery, film):
        tools.add_parser(tool.__name__, help=tool.__doc__).add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.tool in ("preview", "gallery", "film"):
        {"preview": preview, "gallery": gallery, "film": film}[args.tool](args.out)
    else:
        {"emit": emit, "prove": prove, "references": references}[args.tool]()


if __name__ == "__main__":
    main()
