"""Integrations of games: those of stable-retro and those of this repository."""

import difflib
import functools
import gzip
import hashlib
import re
import struct
from pathlib import Path
from typing import Any

from retro_agents.ground.errors import UserError
from retro_agents.ground.requirements import ROOT

CODE, PACK = "bramble.wasm", "game.pack"
"""The files in a game's folder with which it runs without an emulator."""
OWN_GAMES = ROOT / "cartridge" / "integration"


def nearest(name: str, known: list[str]) -> str:
    """Returns ' (nearest: …)' with the closest known name, or '' if none is close."""
    lower = {entry.lower(): entry for entry in known}
    matches = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    return f" (nearest: {lower[matches[0]]})" if matches else ""


def retro_data() -> Any:
    """stable_retro.data: its lists of games and files."""
    from stable_retro import data  # slow to import

    return data


@functools.cache
def games() -> dict[str, Any]:
    """Every game with an integration, and the kind of its integration."""
    kinds = retro_data().Integrations
    if OWN_GAMES.is_dir() and str(OWN_GAMES) not in kinds.CUSTOM_ONLY.paths:
        kinds.add_custom_path(str(OWN_GAMES))
    by_game: dict[str, Any] = {}
    # A custom integration goes first: a game of the same name in the wheel must not hide it.
    for kind in (kinds.CUSTOM_ONLY, kinds.STABLE, kinds.CONTRIB_ONLY):
        for path in kind.paths:
            for file in (Path(retro_data().path()) / path).glob("*/data.json"):
                by_game.setdefault(file.parent.name, kind)
    return by_game


def custom_folders() -> list[str]:
    """Folders of custom integrations in this process, to pass on to workers."""
    games()
    return list(retro_data().Integrations.CUSTOM_ONLY.paths)


def add_custom_folders(folders: list[str]) -> None:
    """Register custom integrations; those of `OWN_GAMES` always are."""
    for folder in folders:
        if folder not in custom_folders():
            retro_data().Integrations.add_custom_path(folder)
    games.cache_clear()


def full_name(game: str) -> str:
    """The game's stable-retro name: adds the '-v0' that the names of 2018 lack. Raises UserError if
    the game is unknown."""
    known = games()
    for name in (game, f"{game}-v0"):
        if name in known:
            return name
    if fresh := re.fullmatch(r"BrambleDash(\d+)-Genesis(-v0)?", game):
        raise UserError(
            f"no game {game!r} yet: `python -m cartridge.levels new --seeds {fresh[1]} "
            "--out cartridge/integration` makes it"
        )
    raise UserError(f"unknown game {game!r}{nearest(game, list(known))}: levels are GAME:STATE")


def states(game: str) -> list[str]:
    """Names of the game's start states, or of its acts if it runs only without an emulator."""
    names = list(retro_data().list_states(game, games()[game]))
    if names or not is_native(game):
        return names
    return list(_packed_names(Path(str(file_of(game, PACK))).read_bytes()))


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
    return file_of(game, CODE) is not None and file_of(game, PACK) is not None


def file_of(game: str, name: str) -> str | None:
    """Path of an integration file of a game, or None if there is none."""
    return retro_data().get_file_path(game, name, games()[game])


def state_bytes(game: str, state: str) -> bytes:
    """The console's memory at a start state, for the emulator. Raises UserError if missing."""
    path = file_of(game, f"{state}.state")
    if path is None:
        raise UserError(
            f"{game} has no states, so it cannot be recorded: play without recording, or make it "
            "again with the console's compiler (cartridge/levels/README.md)"
        )
    return gzip.decompress(Path(path).read_bytes())


def has_rom(game: str) -> bool:
    """Whether the game's ROM exists (in the repository, the wheel, or imported)."""
    try:
        retro_data().get_original_romfile_path(game, games()[game])
    except FileNotFoundError:
        return False
    return True


def check_playable(game: str, *wanted: str, scenario: str, native: bool = True) -> None:
    """Raises UserError if something is missing: game, a wanted state, ROM or scenario. native:
    whether a game that runs without an emulator may lack its ROM."""
    game = full_name(game)
    known = states(game)
    for state in wanted:
        if state not in known:
            raise UserError(f"{game} has no state {state!r}{nearest(state, known)}")
    if not has_rom(game) and is_native(game):
        if not native:
            raise UserError(
                f"{game} runs only without an emulator: give --backend native, or make it again "
                "with the console's compiler (cartridge/levels/README.md)"
            )
    elif not has_rom(game):
        raise UserError(f"{game} has no ROM: import your own with `retro-agents import-roms DIR`")
    if file_of(game, f"{scenario}.json") is None:
        known = list(retro_data().list_scenarios(game, games()[game]))
        raise UserError(
            f"{game} has no scenario {scenario!r}: choose one of {', '.join(known)} with --scenario"
        )


def rom_hash(game: str) -> str:
    """SHA-1 of a game's ROM, or of its pack if it has no ROM."""
    if not has_rom(game) and (pack := file_of(game, PACK)):
        return hashlib.sha1(Path(pack).read_bytes()).hexdigest()
    rom = Path(retro_data().get_original_romfile_path(game, games()[game]))
    return hashlib.sha1(rom.read_bytes()).hexdigest()
