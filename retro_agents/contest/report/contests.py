"""The data of a report: each contest's scores, learning curves and progress, and its best films."""

import dataclasses
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contest.match.folder import Facts, facts_of, read_facts
from retro_agents.contest.match.job import BEST
from retro_agents.contest.match.scores import (
    ContestScores,
    LevelScore,
    Played,
    read_scores,
    scores_of,
)
from retro_agents.contest.report.charts import Curve
from retro_agents.contest.report.films import Film, film
from retro_agents.contest.stored import read_stored, shipped, stored_file
from retro_agents.games.retro.bramble import GAME, reference_returns
from retro_agents.games.retro.integrations import add_games, games, rom_hash, rom_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest_text
from retro_agents.ground.progress import Progress
from retro_agents.judging.score import episode_columns, shown_names

GRID = 41
"""Number of points of a learning curve."""
BINS = 20
EPISODE_NUMBERS = ("step", "r", "complete", "progress")
"""Columns of numbers in a run's episodes.csv."""


@final
@dataclasses.dataclass(frozen=True)
class Entry:
    """One contest's folder, or a stored result, of which only the scores are known.

    curves: by level and seed, see `curve`; progress: of all episodes, see `progress_shares`, None
    if stored."""

    label: str
    timesteps: int
    scores: ContestScores
    x: NDArray[np.float64]
    curves: dict[tuple[str, int], NDArray[np.float64]]
    progress: NDArray[np.float64] | None
    facts: Facts

    @property
    def by_level(self) -> dict[str, LevelScore]:
        """Its scores by level name."""
        return {row.level: row for row in self.scores.levels}

    @property
    def whole(self) -> bool:
        """Whether every planned run was played to its last step."""
        return not self.scores.shortfall


@final
@dataclasses.dataclass(frozen=True)
class Shown:
    """An agent's best recorded episode on a level. number: the agent's index among the entries."""

    level: str
    label: str
    number: int
    score: float
    seed: int
    film: Film | None
    reason: str = ""
    """Why there is no film; "" if there is one."""


def read_entries(folders: Sequence[Path], stored: Sequence[str] = ()) -> list[Entry]:
    """One entry per folder and stored result, with distinct labels: the best first, and those that
    were not played to the end last.

    stored: shipped names or files, of which the levels that the folders' contests played are read.
    Raises UserError.
    """
    folders = [*{folder.resolve(): folder for folder in folders}.values()]
    stored = [*dict.fromkeys(stored)]
    entries = [read_entry(folder) for folder in folders]
    levels = {level for entry in entries for level in entry.by_level}
    entries += [stored_entry(name, levels) for name in stored]
    folders = [*folders, *map(Path, stored)]
    plain = [entry.label for entry in entries]
    named = [f"{a} [{folder.resolve().name}]" for a, folder in zip(plain, folders, strict=True)]
    for n, folder in enumerate(folders):  # add the folder's name, or its path if that occurs twice
        if plain.count(plain[n]) > 1:
            label = named[n] if named.count(named[n]) == 1 else f"{plain[n]} [{folder}]"
            entries[n] = dataclasses.replace(entries[n], label=label)
    return sorted(entries, key=lambda entry: (not entry.whole, -entry.scores.overall.mean))


def read_entry(folder: Path) -> Entry:
    """Read a contest's folder. Raises UserError if it is none."""
    facts = facts_of(read_facts(folder), folder / "contest.json")
    scores = read_scores(folder, planned=facts.planned)
    steps = facts.timesteps or max(one.steps for one in scores.played)
    x = np.linspace(0.0, steps, GRID)
    curves, reached = {}, [np.zeros(0)]
    for one in scores.played:
        rows = episode_columns(one.folder)
        numbers = (rows.get(name, np.array("")).dtype.kind for name in EPISODE_NUMBERS)
        if rows and not all(kind == "f" for kind in numbers):
            raise UserError(f"{one.folder}/episodes.csv is damaged: move {one.folder} away")
        curves[one.level, one.seed] = curve(rows, x, end=one.steps, score=one.mean)
        reached += [rows["progress"]] if rows else []
    label = (facts.name or folder.name) + (f", {facts.mode}" if facts.mode else "")
    shares = progress_shares(np.concatenate(reached))
    return Entry(label, steps, scores, x, curves, shares, facts)


def stored_entry(name: str, levels: Collection[str]) -> Entry:
    """A stored result on these levels; its curves are their last points, the scores. Raises
    UserError if it is none, or has none of the levels."""
    path = stored_file(name)
    if path is None:
        near = nearest_text(name, shipped())
        raise UserError(
            f"no stored result {name!r}: give a contest's result.json, or a name; {near}"
        )
    who, found = read_stored(path)
    played = [one for one in found.played if one.level in levels]
    if not played:
        raise UserError(f"{name} has none of the levels that the contests played: leave it out")
    scores = scores_of(played, [job for job in found.missing if job[0] in levels])
    facts = facts_of(who, path)
    steps = facts.timesteps or max(one.steps for one in played)
    x = np.linspace(0.0, steps, GRID)
    curves = {(one.level, one.seed): curve({}, x, end=one.steps, score=one.mean) for one in played}
    label = name if path.stem == name else facts.name or path.stem
    return Entry(f"{label} (stored)", steps, scores, x, curves, None, facts)


def curve(
    rows: dict[str, NDArray[Any]], x: NDArray[np.float64], *, end: int, score: float
) -> NDArray[np.float64]:
    """At each x, the score so far: mean return of the ended episodes; nan before the first one.

    At the first x at or after `end` steps, when the run was over: its final score, which
    also counts the episode that the end cut off; nan after that.
    """
    y = np.full(len(x), np.nan)
    last = min(int(np.searchsorted(x, end)), len(x) - 1)
    if rows:
        ended = np.searchsorted(rows["step"][rows["complete"] == 1], x[:last], side="right")
        means = np.cumsum(rows["r"]) / np.arange(1, len(rows["r"]) + 1)
        y[:last][ended > 0] = means[ended[ended > 0] - 1]
    y[last] = score
    return y


def held(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """A curve whose last value, its run's score, is extended to the right end."""
    return np.where(np.arange(len(y)) > last_of(y), y[last_of(y)], y)


def last_of(y: NDArray[np.float64]) -> int:
    """Where a curve ends."""
    return int(np.flatnonzero(np.isfinite(y))[-1])


def mean_curve(entry: Entry, number: int, level: str | None) -> Curve:
    """An entry's curve on a level, or on all levels (None), computed like `read_scores`: mean over
    the seeds that have all levels, with a band of these; else the mean of the levels' means."""
    here = {key: y for key, y in entry.curves.items() if level in (None, key[0])}
    end = max(map(last_of, here.values())) + 1  # of the longest run
    if len(here) > 1:
        here = {key: np.where(np.arange(len(y)) < end, held(y), np.nan) for key, y in here.items()}
    names, seeds = {name for name, _ in here}, {seed for _, seed in here}
    whole = [seed for seed in sorted(seeds) if all((name, seed) in here for name in names)]
    rows = [np.mean([here[name, seed] for name in names], axis=0) for seed in whole]
    band = (np.min(rows, axis=0), np.max(rows, axis=0)) if len(rows) > 1 else ()
    if not rows:
        rows = [np.mean([y for (n, _), y in here.items() if n == name], axis=0) for name in names]
    return Curve(entry.label, number, entry.x, np.mean(rows, axis=0), *band)


def progress_shares(progress: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the episodes by furthest progress, in twentieths of a level's length."""
    counts, _ = np.histogram(progress, bins=BINS, range=(0.0, 1.0))
    return np.asarray(counts / max(len(progress), 1), np.float64)


def read_references(entries: Sequence[Entry]) -> dict[str, dict[str, float]]:
    """Mean return of the cartridge's reference players: {player: {level: return}}.

    Includes only players with results on all levels of the entries (none for other games or another
    ROM of the cartridge) that have not played a contest of these entries.
    """
    roms = {rom for entry in entries for game, rom in entry.scores.roms if game == GAME}
    if roms - {rom_hash(GAME)}:
        return {}
    levels = {level for entry in entries for level in entry.by_level}
    here = {entry.facts.name for entry in entries}
    found: dict[str, dict[str, float]] = {}
    for (level, player), mean in reference_returns().items():
        if level in levels and player not in here:
            found.setdefault(f"{player} (reference)", {})[level] = mean
    return {name: scores for name, scores in found.items() if scores.keys() == levels}


def level_names(entries: Sequence[Entry]) -> dict[str, str]:
    """The names under which the levels of all entries are shown."""
    return shown_names([name for entry in entries for name in entry.scores.names])


def best_films(entries: Sequence[Entry]) -> list[Shown]:
    """Each agent's best recorded episode on each level. Prints which cannot be shown."""
    for entry in entries:
        for place in entry.facts.games:  # those beside a CSV of levels
            add_games(Path(place))
    best: dict[tuple[str, int], Played] = {}
    for number, entry in enumerate(entries):
        for one in entry.scores.played:
            before = best.get((one.level, number))
            recorded = (Path(one.folder) / BEST).is_file()
            if recorded and (before is None or reached(one) > reached(before)):
                best[one.level, number] = one
    shown = []
    with Progress(len(best), "report", unit="films") as progress:
        for (level, number), one in sorted(best.items()):
            label, made, reason = entries[number].label, None, other_rom(one)
            if not reason:
                try:
                    made = film(Path(one.folder) / BEST)
                except UserError as error:
                    reason = str(error)
            if reason:
                print(f"no film of {level}: {reason}", file=sys.stderr)
            shown.append(Shown(level, label, number, reached(one), one.seed, made, reason))
            progress.update(sum(one.film is not None for one in shown))
    return shown


def reached(one: Played) -> float:
    """The return of the run's best episode."""
    return one.best_return or 0.0


def other_rom(one: Played) -> str:
    """Why a recording cannot be shown: played back with another ROM, it would be another run.

    "" if the ROM is the same, or if there is no ROM (`film` reports that).
    """
    if one.game not in games() or rom_of(one.game) is None or one.rom_sha1 == rom_hash(one.game):
        return ""
    other, here = one.rom_sha1[:12], rom_hash(one.game)[:12]
    return f"it was played with another ROM of {one.game} ({other}) than the one here ({here})"
