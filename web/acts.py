"""Packs of acts that nobody has seen, for the page: those of other seeds of the level generator.

python -m web.acts 1001 1002     # writes web/acts/1001.pack and 1002.pack, in 21 CPU seconds each
"""

import gzip
from collections.abc import Sequence
from pathlib import Path

from cartridge.levels import fresh, pack
from retro_agents.ground.errors import Parser, command

FOLDER = Path(__file__).parent / "acts"


def write(seed: int) -> Path:
    """Write the pack of a seed's acts, without the art, which all seeds share; returns its path.
    Every act can be finished. Raises UserError if a seed has no such layouts."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{seed}.pack"
    acts = [act for act, _ in fresh.finishable(seed)]
    path.write_bytes(gzip.compress(pack.pack(acts, art=False), mtime=0))
    return path


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = Parser(prog="python -m web.acts", description=__doc__)
    parser.add_argument("seeds", nargs="+", type=int)
    seeds = parser.parse_args(argv).seeds
    fresh.check_seeds(seeds)
    for seed in seeds:
        print(write(seed))


if __name__ == "__main__":
    main()
