"""stable-retro's data folder: the wanted and the installed ROMs, and the import of others."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retro_agents.games.retro.integrations import OWN_GAMES, add_custom_folders, games, retro_data
from retro_agents.games.retro.rom_files import (
    MAX_BYTES,
    NOT_OPENED,
    Allowance,
    Content,
    archive_kind,
    dumps,
    heading,
    is_zip,
    read_contents,
)
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted
from retro_agents.ground.output import printable

JOINED = {
    "SonicAndKnuckles3-Genesis-v0": ("SonicAndKnuckles-Genesis-v0", "SonicTheHedgehog3-Genesis-v0")
}
"""Games of two cartridges, one plugged into the other: their ROM is both, concatenated."""


TITLES = {
    "69e102855d4389c3fd1a8f3dc7d193f8eee5fe5b": "Sonic the Hedgehog, World, revision 01",
    "8bca5dcef1af3e00098666fd892dc1c2a76333f9": "Sonic the Hedgehog 2, World, revision 01",
    "75e9c4705259d84112b3e697a6c00a0813d47d71": "Sonic the Hedgehog 3, USA",
    "88d6499d874dcb5721ff58d76fe1b9af811192e3": "Sonic & Knuckles, World",
}
"""SHA-1 of the contest's cartridges -> title, region and revision; the other games are built."""


@dataclass(frozen=True)
class Line:
    """One line of the report. what: imported, there, built, no, missing, or wanted."""

    what: str
    name: str
    text: str

    def __str__(self) -> str:
        return printable(f"{self.what:9} {self.name}: {self.text}")


def known_hashes() -> dict[str, list[tuple[str, str, str]]]:
    """SHA-1 -> (game, extension, folder of the game's folder) of each game that wants the ROM, own
    games included."""
    add_custom_folders([str(OWN_GAMES)])
    found = {sha1: [place] for sha1, place in retro_data().get_known_hashes().items()}
    for game, folder in games().items():  # of several games with one ROM, it names one
        hashes = folder / "rom.sha"
        for sha1 in hashes.read_text().split() if hashes.is_file() else ():
            place = (game, found[sha1][0][1], str(folder.parent)) if sha1 in found else None
            if place and place not in found[sha1]:
                found[sha1].append(place)
    return found


@dataclass
class Library:
    """stable-retro's data folder, see above."""

    wanted: dict[str, list[tuple[str, str, str]]] = field(default_factory=known_hashes)
    """SHA-1 -> (game, extension, folder of the game's folder) of each game that wants it."""
    seen: dict[str, bytes] = field(default_factory=dict)
    """SHA-1 -> ROM, for all wanted ROMs found so far; a game may have two versions."""

    def hashes(self, game: str) -> list[str]:
        """The SHA-1 of each wanted version of a game."""
        return [sha1 for sha1, by in self.wanted.items() if game in {name for name, *_ in by}]

    def paths(self, sha1: str) -> list[Path]:
        """The paths to which the ROM with this hash belongs."""
        return [Path(folder) / game / f"rom{ext}" for game, ext, folder in self.wanted[sha1]]

    def add(self, sha1: str, rom: bytes) -> bool:
        """Install a wanted ROM. Returns False if intact ones are installed already."""
        self.seen[sha1] = rom
        lacking = [path for path in self.paths(sha1) if not self.intact(path)]
        for path in lacking:
            for name in (path.name, *original_name(path.parent)):
                with drafted(path.with_name(name)) as draft:
                    draft.write_bytes(rom)
        return bool(lacking)

    def intact(self, path: Path) -> dict[str, bytes]:
        """The ROM at a path by its SHA-1; empty if it is missing, another one, or damaged."""
        wanted, rom = self.hashes(path.parent.name), path.read_bytes() if path.is_file() else b""
        return {digest(hashed): rom for hashed, _ in dumps(rom) if digest(hashed) in wanted}

    def installed(self, game: str) -> dict[str, bytes]:
        """The installed ROM by its SHA-1; empty if there is none, see `intact`."""
        places = {path for sha1 in self.hashes(game) for path in self.paths(sha1)}
        own = sorted(path for path in places if path.parent.name == game)
        return {sha1: rom for path in own for sha1, rom in self.intact(path).items()}

    def versions(self, game: str) -> list[bytes]:
        """Every available ROM of a game: found now, or installed before."""
        met = {sha1: self.seen[sha1] for sha1 in self.hashes(game) if sha1 in self.seen}
        return list({**self.installed(game), **met}.values())


def digest(rom: bytes) -> str:
    """The SHA-1 of a ROM, as in stable-retro's lists."""
    return hashlib.sha1(rom).hexdigest()


def original_name(game_folder: Path) -> list[str]:
    """The name of an arcade core's set, if the integration has one; at most one entry."""
    try:
        metadata = json.loads((game_folder / "metadata.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    name = metadata.get("original_rom_name")
    return [Path(name).name] if isinstance(name, str) else []


def import_files(library: Library, paths: Iterable[Path]) -> Iterator[Line]:
    """Import each file, and every file below each folder. Raises UserError if one is missing."""
    allowance = Allowance()
    for path in paths:
        if not may_be_file(path) and not path.is_dir():
            raise UserError(f"no file or folder {path}: give the folder that holds your ROMs")
        below = (file for file in path.rglob("*") if may_be_file(file))
        for file in [path] if may_be_file(path) else sorted(below):
            yield from import_file(library, file, allowance)


def may_be_file(path: Path) -> bool:
    """Whether the path is a file, or cannot be examined: reading it then reports why."""
    try:
        return path.is_file()
    except OSError:
        return True


def import_file(library: Library, path: Path, allowance: Allowance) -> Iterator[Line]:
    """Yields a line for the file, or one for each file in a zip that is not itself a ROM."""
    for content in read_contents(path, allowance):
        line = import_content(library, content)
        if line.what != "no" or content.problem or not is_zip(content.data):
            yield line
        if line.what != "no" and content.where == str(path):
            return


def import_content(library: Library, content: Content) -> Line:
    """Install one file if it is wanted. Returns its line."""
    if content.problem:
        return Line("no", content.where, content.problem)
    for hashed, rom in dumps(content.data):
        sha1 = digest(hashed)
        if sha1 in library.wanted:
            what = "imported" if library.add(sha1, rom) else "there"
            names = dict.fromkeys(game for game, *_ in library.wanted[sha1])
            return Line(what, content.where, ", ".join(names))
    why = f"{reason(library, content.data)} (SHA-1 {digest(content.data)})"
    return Line("no", content.where, why)


def reason(library: Library, content: bytes) -> str:
    """Why stable-retro does not want a file, from the file's own header."""
    if (kind := archive_kind(content)) is not None:
        return NOT_OPENED.format(kind)
    header = heading(content)
    if header is None:
        return "no ROM that stable-retro knows"
    if len(content) < header.size:
        return f"{header} is cut off: {len(content)} of {header.size} bytes"
    game = same_title(library, header.title)
    if game is None:
        return f"{header} is no game that stable-retro knows in this version"
    return (
        f"{header} is another region or revision of {game}, whose states would not fit; "
        f"wanted is {' or '.join(map(described, library.hashes(game)))}"
    )


def described(sha1: str) -> str:
    """A wanted ROM in words."""
    return f"{TITLES[sha1]}, SHA-1 {sha1}" if sha1 in TITLES else f"SHA-1 {sha1}"


def still_wanted(library: Library) -> Iterator[Line]:
    """Yields a line for each game of the contest whose ROM must be imported and is not there."""
    wanted = {game: sha1 for sha1 in TITLES for game, *_ in library.wanted.get(sha1, ())}
    for game, sha1 in wanted.items():
        if not library.installed(game):
            yield Line("wanted", game, described(sha1))


def same_title(library: Library, title: str) -> str | None:
    """The Mega Drive game with the same letters in its title."""

    def letters(text: str) -> str:
        return re.sub("[^a-z0-9]", "", text.lower().replace("&", "and"))

    known = sorted({game for places in library.wanted.values() for game, *_ in places})
    named = (game for game in known if letters(game.split("-")[0]) == letters(title))
    return next((game for game in named if "-Genesis" in game), None)


def build_games(library: Library) -> Iterator[Line]:
    """Build the games that can be built from the available ROMs."""
    yield from join_cartridges(library)
    for delta in sorted(Path(retro_data().path()).glob("*/*/rom.delta")):
        yield build_custom(library, delta.parent.name, delta.read_bytes())


def applied(source: bytes, delta: bytes) -> bytes:
    """The ROM that a delta makes of another. Raises ValueError if they do not fit, or if it makes
    more than any ROM holds."""
    from vcdiff_decoder import VCDIFFError, decode, parse_delta

    try:
        size = sum(map(_made_size, parse_delta(delta).windows))
        if size > MAX_BYTES:
            raise ValueError(f"it makes more than {MAX_BYTES >> 20} MiB")
        return decode(source, delta)
    except (VCDIFFError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _made_size(window: Any) -> int:
    from vcdiff_decoder import Decoder
    from vcdiff_decoder.addresscache import AddressCache

    # Needs no addresses, which are decoded later.
    parts = window.instruction_section, window.data_section
    return sum(one.size for one in Decoder(b"")._parse_instructions(*parts, AddressCache(0, 0)))


def join_cartridges(library: Library) -> Iterator[Line]:
    """Build the games of two cartridges whose ROMs are both available."""
    for game, (below, above) in JOINED.items():
        for first in library.versions(below):
            for second in library.versions(above):
                sha1 = digest(first + second)
                if sha1 in library.hashes(game) and library.add(sha1, first + second):
                    yield Line("built", game, f"from {below} and {above}")


def build_custom(library: Library, game: str, delta: bytes) -> Line:
    """Apply a custom game's delta to the ROM it was made against.

    NameCustomAuthor-Genesis is made from Name-Genesis-v0, or one version of it.
    """
    base = re.sub(r"Custom[^-]*", "", game) + "-v0"
    if library.installed(game):
        return Line("there", game, f"built from {base}")
    if not library.hashes(game):
        return Line("missing", game, "its rom.sha is gone: install stable-retro again")
    problem = f"needs the ROM of {base}"
    for source in library.versions(base):
        try:
            rom = applied(source, delta)
        except ValueError as error:
            problem = f"its delta does not fit {base}, or is damaged ({error})"
            continue
        if digest(rom) in library.hashes(game):
            library.add(digest(rom), rom)
            return Line("built", game, f"from {base}")
        problem = "its delta makes another ROM than its rom.sha says"
    return Line("missing", game, problem)
