"""What a report shows: each contest's scores, learning curves and progress, and its best films."""

from __future__ import annotations

import csv
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

import cartridge
from cartridge.levels.splits import GAME
from contest.match.job import BEST
from contest.match.scores import (
    Played,
    Standings,
    read_played,
    short_level,
    shown_names,
    standings,
)
from contest.report.films import Film, film
from contest.wire.record import rom_hash
from experiment.errors import UserError
from experiment.metrics import read_columns
from retro_env.integrations import games, has_rom

REFERENCES = Path(cartridge.__file__).parent / "levels" / "references.csv"
GRID = 41
"""Points of a learning curve."""
WINDOW = 0.05
"""Part of a run over which a learning curve is a mean."""
BINS = 20


@final
@dataclasses.dataclass(frozen=True)
class Entry:
    """One contest's folder. curves, progress: by level, see `curve` and `progress_shares`."""

    label: str
    timesteps: int
    standings: Standings
    x: NDArray[np.float64]
    curves: dict[tuple[str, int], NDArray[np.float64]]
    progress: NDArray[np.float64]
    facts: dict[str, Any]


@final
@dataclasses.dataclass(frozen=True)
class Shown:
    """The best recorded episode of a level."""

    level: str
    label: str
    score: float
    seed: int
    film: Film | None
    reason: str = ""
    """Why there is no film."""


def read_entries(folders: Sequence[Path]) -> list[Entry]:
    """One entry per folder, the best first, with labels that differ. Errors: UserError."""
    if not folders:
        raise UserError("no folder to report on: give those that contest.run wrote")
    entries = [read_entry(folder) for folder in folders]
    labels = distinct([entry.label for entry in entries], folders)
    entries = [
        dataclasses.replace(entry, label=label)
        for entry, label in zip(entries, labels, strict=True)
    ]
    return sorted(entries, key=lambda entry: -entry.standings.overall.mean)


def distinct(labels: Sequence[str], folders: Sequence[Path]) -> list[str]:
    """Beside a label that occurs twice its folder's name, or where that does too, its path."""
    named = [f"{label} [{folder.name}]" for label, folder in zip(labels, folders, strict=True)]
    return [
        label if labels.count(label) == 1 else name if named.count(name) == 1 else f"{label} [{at}]"
        for label, name, at in zip(labels, named, folders, strict=True)
    ]


def read_entry(folder: Path) -> Entry:
    """A contest's folder. Errors: UserError."""
    played = read_played(folder)
    facts = read_facts(folder)
    steps = int(facts.get("timesteps") or max(one.steps for one in played))
    x = np.linspace(0.0, steps, GRID)
    episodes = {(one.level, one.seed): read_rows(one) for one in played}
    ends = {(one.level, one.seed): one.steps for one in played}
    curves = {key: curve(rows, x, end=ends[key]) for key, rows in episodes.items()}
    mode = f", {facts['mode']}" if facts.get("mode") else ""
    reached = [rows["progress"] for rows in episodes.values() if rows]
    return Entry(
        label=f"{facts.get('name', folder.name)}{mode}",
        timesteps=steps,
        standings=standings(played, planned=[(n, s) for n, s in facts.get("planned", ())]),
        x=x,
        curves=curves,
        progress=progress_shares(np.concatenate(reached) if reached else np.zeros(0)),
        facts=facts,
    )


def read_facts(folder: Path) -> dict[str, Any]:
    """contest.json: who played. Errors: UserError."""
    path = folder / "contest.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    return found


def read_rows(one: Played) -> dict[str, NDArray[Any]]:
    """Columns of a job's episodes.csv; {} where no episode has ended. Errors: UserError."""
    path = one.folder / "episodes.csv"
    if path.is_file() and path.read_text(encoding="utf-8").count("\n") < 2:
        return {}
    return read_columns(path)


def curve(
    rows: dict[str, NDArray[Any]], x: NDArray[np.float64], *, end: int
) -> NDArray[np.float64]:
    """At each x, the mean return of the episodes that ended shortly before; nan before the first,
    and behind the first x at which the run was over, by `end` steps.

    Where none ended in the window, the value before stays.
    """
    y = np.full(len(x), np.nan)
    if not rows:
        return y
    whole = rows["complete"] == 1  # the last one was cut by the end of the run
    ends, returns = rows["step"][whole], rows["r"][whole]
    window = WINDOW * x[-1]
    for index, at in enumerate(x):
        inside = (ends > at - window) & (ends <= at)
        if inside.any():
            y[index] = returns[inside].mean()
        elif index:
            y[index] = y[index - 1]
    y[np.searchsorted(x, end) + 1 :] = np.nan
    return y


def progress_shares(progress: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the episodes in each twentieth of a level's length, by how far they came."""
    counts, _ = np.histogram(progress, bins=BINS, range=(0.0, 1.0))
    shares: NDArray[np.float64] = counts / max(len(progress), 1)
    return shares


def roms(entry: Entry) -> set[tuple[str, str]]:
    """Games and the SHA-1 of their ROMs, as they were played."""
    return {
        (one.level.partition(":")[0], str(one.result.get("rom_sha1")))
        for one in entry.standings.played
    }


def read_references(entries: Sequence[Entry]) -> dict[str, dict[str, float]]:
    """Mean return of the cartridge's own players: {player: {level: return}}.

    Only of those that know all levels of the entries (of other games they know none, nor of another
    ROM of the cartridge), and that have played no contest here.
    """
    if any(rom != rom_hash(GAME) for entry in entries for game, rom in roms(entry) if game == GAME):
        return {}
    levels = {row.label for entry in entries for row in entry.standings.levels}
    here = {entry.facts.get("name") for entry in entries}
    if not REFERENCES.is_file():
        return {}
    found: dict[str, dict[str, float]] = {}
    states = {short_level(level): level for level in levels if level.startswith(f"{GAME}:")}
    with REFERENCES.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["level"] in states:
                found.setdefault(row["agent"], {})[states[row["level"]]] = float(row["mean_return"])
    return {
        f"{name} (reference)": scores
        for name, scores in found.items()
        if scores.keys() == levels and name not in here
    }


def level_names(entries: Sequence[Entry]) -> dict[str, str]:
    """How the levels of all entries are shown."""
    return shown_names([name for entry in entries for name in entry.standings.names])


def best_films(entries: Sequence[Entry]) -> list[Shown]:
    """For each level the best recorded episode of all entries. Says what cannot be shown."""
    best: dict[str, tuple[float, Entry, Played]] = {}
    for entry in entries:
        for one in entry.standings.played:
            recorded = (one.folder / BEST).is_file()
            if recorded and one.best > best.get(one.level, (-np.inf,))[0]:
                best[one.level] = (one.best, entry, one)
    shown = []
    for level, (score, entry, one) in sorted(best.items()):
        made, reason = None, other_rom(one)
        if not reason:
            try:
                made = film(one.folder / BEST)
            except UserError as error:
                reason = str(error)
        if reason:
            print(f"no film of {level}: {reason}", file=sys.stderr)
        shown.append(Shown(level, entry.label, score, one.seed, made, reason))
    return shown


def other_rom(one: Played) -> str:
    """What keeps a recording from being shown: played again in another ROM, it is another run.

    "" where it is the same ROM, or where there is none (and `film` says so).
    """
    game = one.level.partition(":")[0]
    if game not in games() or not has_rom(game):
        return ""
    present, played = rom_hash(game), str(one.result.get("rom_sha1"))
    if present == played:
        return ""
    return f"it was played with another ROM of {game} ({played[:12]}) than is here ({present[:12]})"
