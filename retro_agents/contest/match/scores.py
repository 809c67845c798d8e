"""What a contest's folder adds up to: scores per level and overall, as a table and as JSON."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, final

import msgspec

from retro_agents.contest.match.folder import job_folders, read_result
from retro_agents.ground.errors import UserError
from retro_agents.ground.statistics import t_interval
from retro_agents.judging.score import interval_text, shown_names
from retro_agents.judging.tables import table

NOTES = {
    "crashed": "the agent crashed; counted with what it reached",
    "interrupted": "not over (interrupted, or still playing), and played again if interrupted; "
    "counted with what it reached",
    "complete": "the run ended early ({ended}), so that its mean does not compare; counted with it",
}
"""What a run that was not played to its last step is said to be."""


class Played(msgspec.Struct, frozen=True):
    """One level and seed, as its result.json tells; folder: where that is."""

    level: str
    seed: int
    folder: str
    mean_return: float | None
    best_return: float | None
    episodes: int
    finished: int
    steps: int
    seconds: float
    status: str = "interrupted"
    ended: str | None = None
    limits: dict[str, float] = {}
    rom_sha1: str = "–"
    versions: dict[str, str] = {}

    @property
    def mean(self) -> float:
        """Of the contest; 0 where an agent crashed before its first step."""
        return self.mean_return or 0.0

    @property
    def game(self) -> str:
        """That the level is of."""
        return self.level.partition(":")[0]

    @property
    def whole(self) -> bool:
        """Whether it was played to its last step."""
        limit = self.limits.get("timesteps", 0)
        return self.status == "complete" and self.steps >= limit

    @property
    def note(self) -> str:
        """What is to be known of it; "" where it is whole."""
        if self.whole:
            return ""
        ended = str(self.ended).partition(": ")[2] or "for no known reason"
        if ended == "SystemExit":  # the server was told to stop, because the agent had gone
            ended = "the agent left"
        return f"{NOTES[self.status].format(ended=ended)} ({self.steps:,} steps)"


@final
@dataclasses.dataclass(frozen=True)
class LevelScore:
    """A level's row, or that of all. mean: over seeds. by_seed: score of each that has one."""

    level: str
    mean: float
    by_seed: dict[int, float]
    best: float
    episodes: int
    finished: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % over seeds, of Student's t; none of one."""
        return t_interval(list(self.by_seed.values())) if len(self.by_seed) > 1 else None


@final
@dataclasses.dataclass(frozen=True)
class ContestScores:
    """All that was played in a contest's folder. overall: mean over levels of each seed; where no
    seed has all levels, the mean of the levels' means."""

    played: list[Played]
    levels: list[LevelScore]
    overall: LevelScore
    missing: list[tuple[str, int]]
    """Levels and seeds that were planned, or that others make one expect, and nobody has played."""

    @property
    def names(self) -> dict[str, str]:
        """How its levels are shown."""
        return shown_names(
            [*(row.level for row in self.levels), *(name for name, _ in self.missing)]
        )


def read_scores(out: Path, *, planned: Iterable[tuple[str, int]] = ()) -> ContestScores:
    """Rows per level and overall. An overall score of a seed needs all levels of it.

    planned: levels and seeds that the contest was to play. Errors: UserError (nothing was begun).
    """
    played = read_played(out)
    names = sorted({one.level for one in played})
    seeds = sorted({one.seed for one in played})
    there = {(one.level, one.seed): one for one in played}
    levels = [level_score(name, [one for one in played if one.level == name]) for name in names]
    expected = dict.fromkeys([(name, seed) for name in names for seed in seeds])
    missing = [job for job in {**expected, **dict.fromkeys(planned)} if job not in there]
    whole = [seed for seed in seeds if all((name, seed) in there for name in names)]
    by_seed = {s: fmean(there[n, s].mean for n in names) for s in whole}
    row = level_score("all levels", played)
    mean = fmean(by_seed.values() if whole else [row.mean for row in levels])
    overall = dataclasses.replace(row, mean=mean, by_seed=by_seed)
    return ContestScores(played, levels, overall, missing)


def read_played(out: Path) -> list[Played]:
    """Every job of a folder that was begun. Errors: UserError (there is none).

    One without a step or a status is left out: it has not been played yet.
    """
    found = []
    for folder in job_folders(out):
        result = read_result(folder)
        if result is None or (result.get("steps") == 0 and result.get("status") is None):
            continue
        seed = int(folder.name.removeprefix("seed-"))
        status = result.get("status") or "interrupted"
        own = {"seed": seed, "status": status, "folder": str(folder)}
        try:
            found.append(msgspec.convert({**result, **own}, Played))
        except msgspec.ValidationError as error:
            reason = str(error).partition(" - ")[0]
            raise UserError(f"{folder}/result.json is damaged ({reason}): move it away") from None
    if not found:
        raise UserError(
            f"{out} holds no results: give a folder that `retro-agents contest run` wrote"
        )
    return sorted(found, key=lambda one: (one.level, one.seed))


def level_score(level: str, jobs: Sequence[Played]) -> LevelScore:
    """The row of some jobs."""
    return LevelScore(
        level=level,
        mean=fmean(one.mean for one in jobs),
        by_seed={one.seed: one.mean for one in jobs},
        best=max(one.best_return or 0.0 for one in jobs),
        episodes=sum(one.episodes for one in jobs),
        finished=sum(one.finished for one in jobs),
    )


def markdown(found: ContestScores, *, title: str) -> str:
    """The table, and below it what must be known to read it."""
    seeds = sorted({one.seed for one in found.played})
    names = found.names
    shown = seeds if len(seeds) > 1 else []
    head = ["level", "mean return", "95 % over seeds", *(f"seed {seed}" for seed in shown)]
    rows = []
    for row in [*found.levels, found.overall]:
        cells = [names.get(row.level, row.level), f"{row.mean:,.0f}", interval_text(row.interval)]
        scores = [row.by_seed.get(seed) for seed in shown]
        cells += ["–" if score is None else f"{score:,.0f}" for score in scores]
        cells += [f"{row.best:,.0f}", f"{row.episodes:,}", f"{row.finished:,}"]
        rows.append([f"**{cell}**" for cell in cells] if row is found.overall else cells)
    text = table([*head, "best", "episodes", "finished"], rows)
    count, said = len(found.overall.by_seed), notes(found, names)
    if count > 1:
        what = "The score of a seed is its mean over levels; the interval is Student's t over"
        said = [f"{what} {count} seeds.", *said]
    elif len(seeds) > 1:
        said = [f"No interval over seeds: {count} of {len(seeds)} have all levels.", *said]
    return "\n".join([f"# {title}", "", text, "", *(f"- {note}" for note in said)]) + "\n"


def notes(found: ContestScores, names: Mapping[str, str]) -> list[str]:
    """What a reader must know of these runs, a sentence each. names: of `shown_names`."""
    seeds = {one.seed for one in found.played}
    lines = [f"One seed ({min(seeds)}): no interval over seeds."] if len(seeds) == 1 else []
    for one in found.played:
        if one.note:
            lines.append(f"{names[one.level]}, seed {one.seed}: {one.note}.")
    lines += [f"{names[name]}, seed {seed}: not played." for name, seed in found.missing]
    return lines


def as_json(found: ContestScores) -> dict[str, Any]:
    """The same for a program; null where there is no interval."""

    def plain(row: LevelScore) -> dict[str, Any]:
        low, high = row.interval or (None, None)
        return {**dataclasses.asdict(row), "low": low, "high": high}

    jobs = [msgspec.to_builtins(one) for one in found.played]
    return {
        "overall": plain(found.overall),
        "levels": [plain(row) for row in found.levels],
        "jobs": [{k: v for k, v in job.items() if k != "folder"} for job in jobs],
        "missing": [{"level": name, "seed": seed} for name, seed in found.missing],
    }
