"""A season: acts that were drawn when it opened, on which every entry is scored.

Its folder holds season.json and acts.pack, which needs no console and no compiler to be played.
"""

import dataclasses
import functools
import gzip
import hashlib
import shlex
from pathlib import Path
from typing import final

import msgspec

from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.engine import Cartridge, assemble
from retro_agents.games.retro.integrations import CODE, PACK, file_of
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Natural

FILE, ACTS = "season.json", "acts.pack"
SEEDS = 3
"""Seeds that play each act."""


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of season.json."""

    opened: str
    """When, in UTC; of seasons 1 to 3 the date alone."""
    seed: Natural
    """Of the level generator; drawn when the season opened."""
    acts: dict[str, Natural]
    """Each act's name, and the number of its layout."""
    pack: str
    """SHA-256 of acts.pack."""
    secret: str = ""
    """128 bits, hexadecimal, of which a run's seeds are made, with as many bits: otherwise, whoever
    sees the sticky actions could find `seed`, or the run's own, by trying all. Seasons 1 to 3 have
    none, and seeds of 32 bits."""
    entries: dict[str, str] = {}
    """The entries that were there when it opened, and the SHA-256 of each: only these cannot have
    seen the acts."""


@final
@dataclasses.dataclass(frozen=True)
class Season:
    """A season that was read from its folder. sha256: of both files."""

    number: int
    facts: Facts
    pack: bytes
    sha256: str

    @property
    def acts(self) -> list[str]:
        """The names of its acts."""
        return list(self.facts.acts)

    @functools.cached_property
    def engine(self) -> str:
        """SHA-256 of the game's code, rules and art."""
        return hashlib.sha256(b"".join(self._files)).hexdigest()

    @functools.cached_property
    def cartridge(self) -> Cartridge:
        """The game with these acts, for its engine."""
        code, art, data = self._files
        packs = {"art": gzip.decompress(art), "": gzip.decompress(self.pack)}
        return assemble(code, packs, data)

    @functools.cached_property
    def _files(self) -> list[bytes]:
        names = (CODE, PACK, "data.json")
        return [file_of(GAME, name).read_bytes() for name in names]

    def level(self, act: str) -> Level:
        """An act's place in the cartridge."""
        return Level("", act)

    def sticky_seed(self, act: str, seed: int) -> int:
        """The seed of the sticky actions in a run, which the entry is not told."""
        return self._drawn(act, seed, "sticky")

    def entry_seed(self, act: str, seed: int) -> int:
        """The seed of a reference player in a run."""
        return self._drawn(act, seed, "entry")

    def agent_seed(self, act: str, seed: int, sha256: str) -> int:
        """The seed that an entry is told in a run, so that the same entry has no second draw. It
        tells of the acts only who can guess `secret`. sha256: the entry's."""
        return self._drawn(act, seed, sha256) % 2**31

    def _drawn(self, *words: object) -> int:
        text = " ".join(map(str, (self.facts.secret or self.facts.seed, *words)))
        size = 16 if self.facts.secret else 4
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size])


def folders(board: Path) -> dict[int, Path]:
    """The folders of all seasons, by number."""
    found = [path.parent for path in board.glob(f"seasons/*/{FILE}")]
    return {int(path.name): path for path in found if path.name.isdecimal()}


def current_season(board: Path, number: int | None = None) -> Season:
    """A season of a leaderboard, by default the newest. Raises UserError if there is none, or it is
    damaged."""
    known = folders(board)
    if not known:
        raise UserError(
            f"{board} has no season: run where leaderboard/ is, give --board, or open one with "
            f"`retro-agents leaderboard open --board {shlex.quote(str(board))}`"
        )
    if number is None:
        number = max(known)
    elif number not in known:
        there = ", ".join(map(str, sorted(known)))
        raise UserError(f"--season {number}: {board} has no such season; expected one of {there}")
    try:
        text, pack = ((known[number] / name).read_bytes() for name in (FILE, ACTS))
        facts = msgspec.json.decode(text, type=Facts)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise UserError(f"cannot read season {known[number]}: {error}; restore it") from None
    if hashlib.sha256(pack).hexdigest() != facts.pack:
        raise UserError(f"{known[number] / ACTS} is not the pack of its season: restore it")
    return Season(number, facts, pack, hashlib.sha256(text + pack).hexdigest())
