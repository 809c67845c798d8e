"""Import your own ROMs: `scripts/import-roms DIR…` (python -m retro_env.roms).

Says of each file which game it is, by its SHA-1 and stable-retro's list, or why it is none. ROMs
go where `python -m stable_retro.import` puts them, into stable-retro's own data folder. The 2018
contest's custom levels come with stable-retro as deltas (`rom.delta`) against the Sonic ROMs; they
are built when their ROM is there.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stable_retro import data

from experiment.errors import UserError, command
from retro_env.rom_files import Content, archive_kind, dumps, heading, is_zip, read_contents
from retro_env.vcdiff import decode

JOINED = {
    "SonicAndKnuckles3-Genesis-v0": ("SonicAndKnuckles-Genesis-v0", "SonicTheHedgehog3-Genesis-v0")
}
"""Games that are two cartridges, one put on top of the other: their ROM is one behind the other."""
SPLITS = ("sonic-train", "sonic-test", "sonic-custom-leaderboard", "sonic-custom-final")


@dataclass(frozen=True)
class Line:
    """One line of the report. what: imported, there, built, no, or missing."""

    what: str
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.what:9} {self.name}: {self.text}"


@dataclass
class Library:
    """stable-retro's data folder: which ROMs it wants, which it has."""

    wanted: dict[str, tuple[str, str, str]] = field(default_factory=data.get_known_hashes)
    """SHA-1 -> (game, extension, folder of the game's folder)."""
    seen: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Game -> SHA-1 -> ROM, of all ROMs met: a game may have two versions."""

    def path(self, sha1: str) -> Path:
        """Where the ROM with this hash belongs."""
        game, extension, folder = self.wanted[sha1]
        return Path(folder) / game / f"rom{extension}"

    def hashes(self, game: str) -> list[str]:
        """The SHA-1 of each version of a game that is wanted."""
        return [sha1 for sha1, (name, _, _) in self.wanted.items() if name == game]

    def add(self, sha1: str, rom: bytes) -> bool:
        """Install a wanted ROM; False when a good one is there already."""
        game = self.wanted[sha1][0]
        self.seen.setdefault(game, {})[sha1] = rom
        if self.installed(game):
            return False
        path = self.path(sha1)
        write(path, rom)
        original = original_name(path.parent)
        if original is not None:
            write(path.with_name(original), rom)
        return True

    def installed(self, game: str) -> dict[str, bytes]:
        """The installed ROM by its SHA-1; empty without one, or where it is another or damaged."""
        wanted = self.hashes(game)
        if not wanted or not self.path(wanted[0]).is_file():
            return {}
        rom = self.path(wanted[0]).read_bytes()
        hashes = (digest(hashed) for hashed, _ in dumps(rom))
        return {sha1: rom for sha1 in hashes if sha1 in wanted}

    def versions(self, game: str) -> list[bytes]:
        """Every ROM of a game at hand: met now, or installed before."""
        return list({**self.installed(game), **self.seen.get(game, {})}.values())


def digest(rom: bytes) -> str:
    """SHA-1 as in stable-retro's lists."""
    return hashlib.sha1(rom).hexdigest()


def original_name(game_folder: Path) -> str | None:
    """The name under which an arcade core looks for its set, where the integration says one."""
    try:
        metadata = json.loads((game_folder / "metadata.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    name = metadata.get("original_rom_name")
    return Path(name).name if isinstance(name, str) else None


def write(path: Path, content: bytes) -> None:
    """Write beside, sync, rename: whoever looks finds the old file or the whole new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise UserError(
            f"cannot write {path}: {error.strerror}; ROMs are kept in stable-retro's folder, "
            "which must be writable"
        ) from None


def import_content(library: Library, content: Content) -> Line:
    """Install one file if it is wanted, and say what it is."""
    if content.problem:
        return Line("no", content.where, content.problem)
    for hashed, rom in dumps(content.data):
        sha1 = digest(hashed)
        if sha1 in library.wanted:
            game = library.wanted[sha1][0]
            what = "imported" if library.add(sha1, rom) else "there"
            return Line(what, content.where, game)
    return Line("no", content.where, why_not(library, content.data))


def why_not(library: Library, content: bytes) -> str:
    """What a file is that stable-retro does not want, as far as it says so itself."""
    if (kind := archive_kind(content)) is not None:
        return f"is a {kind} archive, which is not opened here: unpack it first"
    found = heading(content)
    if found is None:
        return f"no ROM that stable-retro knows (SHA-1 {digest(content)})"
    if len(content) < found.size:
        return f"{found} is cut off: {len(content)} of {found.size} bytes"
    game = same_title(library, found.title)
    if game is None:
        return f"{found} is no game that stable-retro knows in this version"
    return (
        f"{found} is another region or revision of {game}, whose states would not fit; "
        f"wanted is SHA-1 {' or '.join(library.hashes(game))}"
    )


def same_title(library: Library, title: str) -> str | None:
    """The Mega Drive game with this title, letter by letter."""

    def letters(text: str) -> str:
        return re.sub("[^a-z0-9]", "", text.lower().replace("&", "and"))

    games = {letters(game.split("-")[0]): game for game in platform_games(library, "Genesis")}
    return games.get(letters(title))


def platform_games(library: Library, platform: str) -> list[str]:
    """Games of one console."""
    games = {game for game, _, _ in library.wanted.values()}
    return sorted(game for game in games if platform in game.split("-")[1:])


def join_cartridges(library: Library) -> Iterator[Line]:
    """Make the games that are two cartridges in one, where both are there."""
    for game, (below, above) in JOINED.items():
        if library.installed(game):
            continue
        for first in library.versions(below):
            for second in library.versions(above):
                sha1 = digest(first + second)
                if sha1 in library.hashes(game):
                    library.add(sha1, first + second)
                    yield Line("built", game, f"from {below} and {above}")


def build_custom_levels(library: Library) -> Iterator[Line]:
    """Apply every integration's `rom.delta` to the ROM that it was made against."""
    for delta in sorted(Path(data.path()).glob("*/*/rom.delta")):
        game = delta.parent.name
        base = base_game(game)
        if library.installed(game):
            yield Line("there", game, f"built from {base}")
        elif not library.hashes(game):
            yield Line("missing", game, "its rom.sha is gone: install stable-retro again")
        elif not library.versions(base):
            yield Line("missing", game, f"is built from the ROM of {base}")
        else:
            yield build(library, game, delta)


def base_game(game: str) -> str:
    """The game that a custom one changes: NameCustomAuthor-Genesis -> Name-Genesis-v0."""
    return re.sub(r"Custom[^-]*", "", game) + "-v0"


def build(library: Library, game: str, delta: Path) -> Line:
    """Make one custom ROM from the version of its base that fits."""
    problem = ""
    for base in library.versions(base_game(game)):
        try:
            rom = decode(delta.read_bytes(), base, name="its delta")
        except UserError as error:
            problem = str(error)
            continue
        if digest(rom) in library.hashes(game):
            library.add(digest(rom), rom)
            return Line("built", game, f"from {base_game(game)}")
        problem = "its delta makes another ROM than its rom.sha says"
    return Line("missing", game, problem)


def import_file(library: Library, path: Path) -> list[Line]:
    """A line for the file; for a zip that is no ROM as a whole, one for each file in it."""
    lines = []
    for content in read_contents(path):
        line = import_content(library, content)
        if line.what == "no" and not content.problem and is_zip(content.data):
            continue
        lines.append(line)
        if content.where == str(path) and line.what != "no":
            break
    return lines


def import_files(library: Library, paths: Iterable[Path]) -> Iterator[Line]:
    """Import every file at or below the paths."""
    for path in paths:
        for file in files_below(path):
            yield from import_file(library, file)


def build_games(library: Library) -> Iterator[Line]:
    """Build what can be built from the ROMs that are there."""
    yield from join_cartridges(library)
    yield from build_custom_levels(library)


def report(lines: Iterable[Line]) -> Counter[str]:
    """Print the lines -> how many there are of each kind."""
    count: Counter[str] = Counter()
    for line in lines:
        print(line)
        count[line.what] += 1
    return count


def files_below(path: Path) -> list[Path]:
    """A file, or the files in a folder and its folders. Errors: UserError."""
    if may_be_file(path):
        return [path]
    if not path.is_dir():
        raise UserError(f"no file or folder {path}: give the folder that holds your ROMs")
    return sorted(file for file in path.rglob("*") if may_be_file(file))


def may_be_file(path: Path) -> bool:
    """Whether it is a file, or nobody may know: then reading says why it cannot be read."""
    try:
        return path.is_file()
    except OSError:
        return True


@command
def main() -> None:
    """The command line. Exit code 1: none of the files is a ROM that is wanted."""
    from retro_env.doctor import split_fact

    parser = argparse.ArgumentParser(prog="scripts/import-roms", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR", help="folders, or files")
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may be no text
        sys.stdout.reconfigure(errors="backslashreplace")
    library = Library()
    files = report(import_files(library, parser.parse_args().paths))
    count = files + report(build_games(library))
    print(f"{count['imported']} imported, {count['there']} there already, {count['built']} built")
    for split in SPLITS:
        print(split_fact(split).text)
    if not files["imported"] + files["there"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
