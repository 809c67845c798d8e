"""Levels and splits: what the words behind `--levels` mean."""

import csv
from dataclasses import dataclass
from pathlib import Path

from experiment.errors import UserError
from retro_env.integrations import full_name, nearest, states

SPLITS = Path(__file__).parent / "splits"


@dataclass(frozen=True)
class Level:
    """One start state of one game; `str(level)` is GAME:STATE."""

    game: str
    state: str

    def __str__(self) -> str:
        return f"{self.game}:{self.state}"


def split_names() -> list[str]:
    """Names of the splits that come with the project."""
    return sorted(path.stem for path in SPLITS.glob("*.csv"))


def parse_levels(spec: str) -> list[Level]:
    """Levels of a split's name, a CSV path (columns game,state) or GAME:STATE[,GAME:STATE…].

    Names are checked against the integrations; a ROM need not be there yet. Errors: UserError.
    """
    if spec in split_names():
        return read_levels(SPLITS / f"{spec}.csv")
    if spec.endswith(".csv"):
        return read_levels(Path(spec))
    if ":" not in spec:
        raise UserError(
            f"unknown levels {spec!r}{nearest(spec, split_names())}: give a split "
            f"({', '.join(split_names())}), a CSV with columns game,state, or GAME:STATE"
        )
    return [parse_level(part) for part in spec.split(",") if part.strip()]


def parse_level(text: str) -> Level:
    """GAME:STATE -> Level, with the game's full name. Errors: UserError names the nearest."""
    game, _, state = text.strip().partition(":")
    return checked(game, state)


def checked(game: str, state: str) -> Level:
    """A level whose game and state exist; UserError otherwise."""
    game = full_name(game)
    if state not in states(game):
        raise UserError(f"{game} has no state {state!r}{nearest(state, states(game))}")
    return Level(game, state)


def read_levels(path: Path) -> list[Level]:
    """Levels of a CSV file with the columns game and state. Errors: UserError."""
    try:
        # Spreadsheets write a mark before the first column's name; utf-8-sig drops it.
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"cannot read levels from {path}: {getattr(error, 'strerror', None) or error}"
        ) from None
    if not rows or "game" not in rows[0][1] or "state" not in rows[0][1]:
        raise UserError(f"{path} holds no levels: expected a CSV with columns game,state")
    for line, row in rows:
        if not (row["game"] and row["state"]):
            raise UserError(
                f"{path}, line {line} lacks its game or state: expected GAME,STATE; complete it"
            )
    return [checked(row["game"], row["state"]) for _, row in rows]
