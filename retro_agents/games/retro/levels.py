"""Levels and splits: parses the values of `--levels`."""

import csv
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from retro_agents.games.retro.integrations import (
    add_beside,
    full_name,
    nearest,
    no_state,
    states,
)
from retro_agents.games.retro.splits import SPLITS, split_names
from retro_agents.ground.errors import UserError


@dataclass(frozen=True)
class Level:
    """One start state of one game; `str(level)` is GAME:STATE."""

    game: str
    state: str

    def __str__(self) -> str:
        return f"{self.game}:{self.state}"


def parse_levels(spec: str) -> list[Level]:
    """Parses names of splits, GAME:STATE, and CSV paths (columns game,state), separated by commas;
    a split's levels need no GAME.

    Raises UserError if the integrations lack a name; the ROM may be missing.
    """
    levels: list[Level] = []
    whole = spec.lower().endswith(".csv") and os.access(spec, os.F_OK)
    parts = [spec] if whole else spec.split(",")
    for part in [part.strip() for part in parts if part.strip()] or [spec]:
        if part.lower().endswith(".csv"):
            levels += read_levels(Path(part))
        elif part in split_names():
            levels += read_levels(SPLITS / f"{part}.csv")
        else:
            levels.append(parse_level(part))
    return levels


def parse_level(text: str) -> Level:
    """Parses GAME:STATE, or the STATE of a split's level; the Level has the game's full name.

    Raises UserError, with the nearest name, if there is no such level.
    """
    game, colon, state = text.strip().partition(":")
    if colon and game.lower() == "procgen":
        raise UserError(
            f"{text.strip()} is a Procgen game, not possible here: give a split or GAME:STATE"
        )
    if colon:
        return checked(game, state)
    if game in split_names():
        raise UserError(f"{game} is a split: give one of `retro-agents list levels --of {game}`")
    known = {lv for split in split_names() for lv in rows_of(SPLITS / f"{split}.csv")}
    matches = sorted(map(str, (level for level in known if level.state == game)))
    if not matches:
        names = [*split_names(), *(level.state for level in known)]
        raise UserError(
            f"unknown levels {game!r}{nearest(game, names)}: give levels by name or as GAME:STATE, "
            f"a split ({', '.join(split_names())}), or a CSV with columns game,state; "
            "`retro-agents list levels` prints them"
        )
    if len(matches) > 1:
        raise UserError(f"several games have a level {game!r}: give {' or '.join(matches)}")
    return parse_level(matches[0])


def checked(game: str, state: str, *, states_of: Callable[[str], Sequence[str]] = states) -> Level:
    """The level. Raises UserError if its game or state does not exist."""
    game = full_name(game)
    if state not in (known := states_of(game)):
        raise UserError(no_state(game, state, known))
    return Level(game, state)


def read_levels(path: Path) -> list[Level]:
    """The levels of a CSV file with the columns game and state; their games may lie beside it.
    Raises UserError if unreadable."""
    once, found = functools.cache(states), rows_of(path)
    add_beside(path)
    try:
        return [checked(level.game, level.state, states_of=once) for level in found]
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def rows_of(path: Path) -> list[Level]:
    """The levels as the file has them, unchecked."""
    try:
        # Spreadsheets write a mark before the first column's name; utf-8-sig drops it.
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            (_, head), *rows = [
                (reader.line_num, [cell.strip() for cell in row]) for row in reader if row
            ] or [(0, [])]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"cannot read levels from {path}: {getattr(error, 'strerror', None) or error}"
        ) from None
    if not rows or not {"game", "state"} <= {*head}:
        found = f"{len(rows)} rows with the columns {','.join(head) or '(none)'}"
        raise UserError(f"{path} holds {found}: expected levels in columns game,state")
    levels = []
    for line, row in rows:
        named = dict(zip(head, row, strict=False))
        if not (named.get("game") and named.get("state")):
            raise UserError(
                f"{path}, line {line} lacks its game or state: expected GAME,STATE; complete it"
            )
        levels.append(Level(named["game"], named["state"]))
    return levels
