"""Packs of acts that nobody has seen, for the page: those of other seeds of the level generator.

python -m web.acts 1001 1002     # writes web/acts/1001.pack and 1002.pack, in 21 CPU seconds each
"""

import gzip
from collections.abc import Sequence
from pathlib import Path

from cartridge.levels import fresh, pack
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.files import drafted

FOLDER = Path(__file__).parent / "acts"


def write(seed: int) -> Path:
    """Write the pack of a seed's acts, without the art, which all seeds share; returns its path.
    Every act can be finished. Raises UserError if a seed has no such layouts, or if the pack cannot
    be written."""
    path = FOLDER / f"{seed}.pack"
    with drafted(path) as draft:
        acts = [act for act, _ in fresh.finishable(seed)]
        draft.write_bytes(gzip.compress(pack.pack(acts, art=False), mtime=0))
    return path


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = Parser(prog="python -m web.acts", description=__doc__)
    parser.add_argument("seeds", nargs="+", type=int, metavar="SEED")
    seeds = parser.parse_args(argv).seeds
    try:
        fresh.check_seeds(seeds)
    except UserError as error:  # it names the option of `cartridge.levels.fresh`
        raise UserError(str(error).removeprefix("--")) from None
    for seed in seeds:
        print(write(seed))


if __name__ == "__main__":
    main()
