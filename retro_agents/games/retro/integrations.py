"""Integrations of games: those of stable-retro and those of this repository."""

import functools
import gzip
import hashlib
import json
import os
import re
import shlex
import struct
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from retro_agents.ground.errors import UserError, need
from retro_agents.ground.names import nearest as closest
from retro_agents.ground.requirements import ROOT

CODE, PACK = "bramble.wasm", "game.pack"
"""The files in a game's folder with which it runs without an emulator."""
NO_ROM = "{} has no ROM: import your own with `retro-agents import-roms DIR`"
OWN_GAMES = ROOT / "cartridge" / "integration"
MORE_GAMES = "RETRO_AGENTS_GAMES"
"""Environment variable with more folders of games. Those beside a CSV of levels are added to it, so
that the processes which this one starts know their games too."""


def nearest(name: str, known: list[str]) -> str:
    """Returns ' (nearest: …)' with the closest known name, or '' if none is close."""
    close = closest(name, known, cutoff=0.5)
    return f" (nearest: {close})" if close else ""


def retro_data() -> Any:
    """stable_retro.data: its games, and the folders that a user has added to them."""
    from stable_retro import data  # slow to import

    return data


@functools.cache
def games() -> dict[str, Path]:
    """Every game with an integration, and its folder; without stable-retro, the games of this
    project and of `MORE_GAMES` alone."""
    places = [OWN_GAMES, *more_places()]
    if find_spec("stable_retro"):
        kinds, root = retro_data().Integrations, Path(retro_data().path())
        # A custom integration goes first: a game of the same name in the wheel must not hide it.
        custom = dict.fromkeys([*map(Path, kinds.CUSTOM_ONLY.paths), *places])
        places = [*custom, *(root / kind for kind in ("stable", "contrib"))]
    by_game: dict[str, Path] = {}
    for place in places:
        for file in place.glob("*/data.json"):
            by_game.setdefault(file.parent.name, file.parent)
    return by_game


def kind_of(game: str) -> Any:
    """The kind of a game's integration, for stable-retro's emulator, which learns of its folder."""
    kinds, place = retro_data().Integrations, games()[game].parent
    for kind in (kinds.STABLE, kinds.CONTRIB_ONLY):
        if place.name == kind.paths[0] and place.parent == Path(retro_data().path()):
            return kind
    if str(place) not in kinds.CUSTOM_ONLY.paths:
        kinds.add_custom_path(str(place))
    return kinds.CUSTOM_ONLY


def custom_folders() -> list[str]:
    """Folders of custom integrations in this process, to pass on to workers."""
    return list(retro_data().Integrations.CUSTOM_ONLY.paths)


def add_custom_folders(folders: list[str]) -> None:
    """Register custom integrations; those of `OWN_GAMES` always are."""
    for folder in folders:
        if folder not in custom_folders():
            retro_data().Integrations.add_custom_path(folder)
    games.cache_clear()


def more_places() -> list[Path]:
    """The folders of `MORE_GAMES`."""
    places = os.environ.get(MORE_GAMES, "").split(os.pathsep)
    return [Path(place).absolute() for place in places if place]


def add_beside(csv: Path) -> None:
    """Adds the games whose folders lie beside a CSV of levels, as `cartridge.levels new` has it."""
    add_games(csv.absolute().parent)


def add_games(folder: Path) -> None:
    """Adds a folder of games, unless there are none in it. Raises UserError if its path has the
    character that separates folders."""
    known = more_places()
    if folder in (OWN_GAMES, *known) or not any(folder.glob("*/data.json")):
        return
    if os.pathsep in str(folder):
        raise UserError(f"{folder}: expected games in a folder without {os.pathsep!r} in its path")
    os.environ[MORE_GAMES] = os.pathsep.join(map(str, [*known, folder]))
    games.cache_clear()


def full_name(game: str) -> str:
    """The game's stable-retro name: adds the '-v0' that the names of 2018 lack. Raises UserError if
    the game is unknown, or ModuleNotFoundError if stable-retro may know it and is missing."""
    names = (game, f"{game}-v0")
    if games().keys().isdisjoint(names):
        games.cache_clear()  # it may have been made since, as by another cell of a notebook
    known = games()
    for name in names:
        if name in known:
            return name
    if not game.startswith("BrambleDash"):
        need("stable_retro")
    if fresh := re.fullmatch(r"BrambleDash(0|[2-9]|[1-9][0-9]+)-Genesis(-v0)?", game):
        raise UserError(
            f"no game {game!r} in {OWN_GAMES}: give --levels a CSV beside its folder, or name the "
            f"folder that holds it in {MORE_GAMES}, or make it by `python -m cartridge.levels new "
            f"--seeds {fresh[1]} --out {shlex.quote(str(OWN_GAMES))}`"
        )
    raise UserError(f"unknown game {game!r}{nearest(game, list(known))}: levels are GAME:STATE")


def no_state(game: str, state: str, known: Sequence[str]) -> str:
    """Says that a game has no such state, and the nearest one, or the first ones."""
    some = f" (it has {', '.join(known[:5])}{', …' * (len(known) > 5)})" if known else ""
    return f"{game} has no state {state!r}{nearest(state, [*known]) or some}"


def states(game: str) -> list[str]:
    """Names of the game's start states, or of its acts if it runs only without an emulator."""
    names = sorted(file.stem for file in games()[game].glob("[!_]*.state"))
    if names or not is_native(game):
        return names
    return list(_packed_names(file_of(game, PACK).read_bytes()))


@functools.lru_cache(maxsize=64)
def _packed_names(packed: bytes) -> tuple[str, ...]:
    return tuple(act_names(gzip.decompress(packed)))


def head_of(pack: bytes) -> list[int]:
    """A pack's first words (cartridge/host/tables.c: Head)."""
    return list(struct.unpack_from("<13I", pack))


def act_names(pack: bytes) -> list[str]:
    """Names of a pack's acts, in order."""
    head = head_of(pack)
    return pack[head[11] : head[11] + head[12]].decode().split("\n")


def is_native(game: str) -> bool:
    """Whether a game can run without an emulator."""
    return file_of(game, CODE).exists() and file_of(game, PACK).exists()


def file_of(game: str, name: str) -> Path:
    """Path of an integration file of a game, which may lack it."""
    return games()[game] / name


def state_bytes(game: str, state: str) -> bytes:
    """The console's memory at a start state, for the emulator. Raises UserError if it is missing or
    damaged."""
    path = file_of(game, f"{state}.state")
    if not path.exists():
        raise UserError(
            f"{game} has no states, so it cannot be recorded: play without recording, or make it "
            "again with the console's compiler (docs/environments/generator.md)"
        )
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path} is no state, which gzip compresses, or damaged: {error}") from None


def rom_of(game: str) -> Path | None:
    """The game's ROM (in the repository, the wheel, or imported), or None if there is none."""
    if (own := file_of(game, "rom.md")).exists():
        return own
    if games()[game].parent == OWN_GAMES:
        return None
    try:
        return Path(retro_data().get_original_romfile_path(game, kind_of(game)))
    except FileNotFoundError:
        return None


def check_playable(game: str, *wanted: str, scenario: str, native: bool = True) -> None:
    """Raises UserError if something is missing: game, a wanted state, ROM or scenario. native:
    whether a game that runs without an emulator may lack its ROM."""
    game = full_name(game)
    known = states(game)
    for state in wanted:
        if state not in known:
            raise UserError(no_state(game, state, known))
    if rom_of(game) is None and is_native(game):
        if not native:
            raise UserError(
                f"{game} runs only without an emulator: give --backend native, or make it again "
                "with the console's compiler (docs/environments/generator.md)"
            )
    elif rom_of(game) is None:
        raise UserError(NO_ROM.format(game))
    if not file_of(game, f"{scenario}.json").exists():
        known = sorted(file.stem for file in games()[game].glob("*.json") if _is_scenario(file))
        raise UserError(
            f"{game} has no scenario {scenario!r}: choose one of {', '.join(known)} with "
            "--scenario, which trainers and play have"
        )


def _is_scenario(file: Path) -> bool:
    try:
        return not {"reward", "rewards", "done"}.isdisjoint(json.loads(file.read_bytes()))
    except (ValueError, TypeError):
        return False


def rom_hash(game: str) -> str:
    """SHA-1 of a game's ROM, or else of its pack. Raises UserError if it has neither."""
    rom = rom_of(game) or file_of(game, PACK)
    if not rom.exists():
        raise UserError(NO_ROM.format(game))
    return hashlib.sha1(rom.read_bytes()).hexdigest()
