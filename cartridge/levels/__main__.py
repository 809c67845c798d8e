"""python -m cartridge.levels emit | preview | prove | references"""

import argparse
from pathlib import Path

from experiment.errors import command


@command
def main() -> None:
    """Run one of the level tools."""
    parser = argparse.ArgumentParser(prog="cartridge.levels", description=__doc__)
    tools = parser.add_subparsers(dest="tool", required=True)
    tools.add_parser("emit", help="write the C data to src/generated and the splits")
    preview = tools.add_parser("preview", help="draw all acts and sprites as PNG")
    preview.add_argument("--out", type=Path, default=Path("preview"))
    args = parser.parse_args()
    if args.tool == "emit":
        from cartridge.levels.emit import emit

        for path in emit():
            print(path)
    if args.tool == "preview":
        from cartridge.levels.preview import write

        for path in write(args.out):
            print(path)


if __name__ == "__main__":
    main()
