"""The scores of a contest's folder, per level and overall, as a table and as JSON."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, final

import msgspec

from retro_agents.contest.match.folder import job_folders, read_result
from retro_agents.contract.envs import CONTEST_RETURNS
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Finite, Natural, NonNegative
from retro_agents.ground.statistics import t_interval
from retro_agents.judging.score import interval_text, shown_names
from retro_agents.judging.tables import table

NOTES = {
    "crashed": "the agent crashed; the return it had reached counts",
    "interrupted": "not over: still playing, or interrupted and to be played again; "
    "the return it had reached counts",
    "complete": "the run ended early ({ended}), so its mean is not comparable",
}
"""Notes on runs that were not played to their last step, by status."""


class Played(msgspec.Struct, frozen=True):
    """One level and seed, read from the result.json in `folder`."""

    level: str
    seed: int
    folder: str
    mean_return: Finite | None
    best_return: Finite | None
    episodes: Natural
    finished: Natural
    steps: Natural
    seconds: NonNegative
    status: Literal["complete", "crashed", "interrupted"] = "interrupted"
    ended: str | None = None
    limits: dict[str, float] = {}
    rom_sha1: str = "–"
    versions: dict[str, str] = {}

    @property
    def mean(self) -> float:
        """The contest's score; 0 if the agent crashed before its first step."""
        return self.mean_return or 0.0

    @property
    def game(self) -> str:
        """The game of its level."""
        return self.level.partition(":")[0]

    @property
    def whole(self) -> bool:
        """Whether it was played to its last step."""
        limit = self.limits.get("timesteps", 0)
        return self.status == "complete" and self.steps >= limit

    @property
    def note(self) -> str:
        """What a reader should know about the run; "" if it was played to its last step."""
        if self.whole:
            return ""
        ended = str(self.ended).partition(": ")[2] or "for no known reason"
        if ended == "SystemExit":  # the server was stopped because the agent had gone
            ended = "the agent left"
        return f"{NOTES[self.status].format(ended=ended)} ({self.steps:,} steps)"


@final
@dataclasses.dataclass(frozen=True)
class LevelScore:
    """A row of the table: a level, or all levels. mean: over seeds. by_seed: each seed's score."""

    level: str
    mean: float
    by_seed: dict[int, float]
    best: float
    episodes: int
    finished: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval over seeds, of Student's t; None for a single seed."""
        means = [*self.by_seed.values()]
        return t_interval(means, within=CONTEST_RETURNS) if len(means) > 1 else None


@final
@dataclasses.dataclass(frozen=True)
class ContestScores:
    """All results in a contest's folder. overall: mean over levels of each seed; if no seed has all
    levels, the mean of the levels' means."""

    played: list[Played]
    levels: list[LevelScore]
    overall: LevelScore
    missing: list[tuple[str, int]]
    """Levels and seeds that were planned, or that other results imply, but were not played."""

    @property
    def shortfall(self) -> str:
        """How many runs were not played to their last step: it ranks below contests that were, for
        an agent could leave while its mean is high. "" if there is none."""
        planned = len(self.played) + len(self.missing)
        cut = planned - sum(one.whole for one in self.played)
        return f"{cut} of {planned} runs did not play all their steps" if cut else ""

    @property
    def roms(self) -> set[tuple[str, str]]:
        """The games and the SHA-1 of the ROMs with which they were played."""
        return {(one.game, one.rom_sha1) for one in self.played}

    @property
    def names(self) -> dict[str, str]:
        """The names under which its levels are shown."""
        return shown_names(
            [*(row.level for row in self.levels), *(name for name, _ in self.missing)]
        )


def read_scores(out: Path, *, planned: Iterable[tuple[str, int]] = ()) -> ContestScores:
    """The scores of a folder's jobs that have begun, see `scores_of`. Raises UserError if there are
    none.

    Jobs without a step or a status are left out: they have not been played yet.
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
            f"{out} holds no results yet: give a folder in which `retro-agents contest run` played"
        )
    return scores_of(sorted(found, key=lambda one: (one.level, one.seed)), planned)


def scores_of(played: list[Played], planned: Iterable[tuple[str, int]] = ()) -> ContestScores:
    """Rows per level and overall. A seed has an overall score only if all its levels were played.

    planned: levels and seeds that the contest was to play.
    """
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


def level_score(level: str, jobs: Sequence[Played]) -> LevelScore:
    """The row of these jobs."""
    return LevelScore(
        level=level,
        mean=fmean(one.mean for one in jobs),
        by_seed={one.seed: one.mean for one in jobs},
        best=max(one.best_return or 0.0 for one in jobs),
        episodes=sum(one.episodes for one in jobs),
        finished=sum(one.finished for one in jobs),
    )


def markdown(found: ContestScores, *, title: str) -> str:
    """The table, and below it the notes that are needed to read it."""
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
        what = "A seed's score is its mean over levels; the interval is Student's t over"
        said = [f"{what} {count} seeds.", *said]
    elif len(seeds) > 1:
        said = [f"No interval over seeds: only {count} of {len(seeds)} played all levels.", *said]
    return "\n".join([f"# {title}", "", text, "", *(f"- {note}" for note in said)]) + "\n"


def notes(found: ContestScores, names: Mapping[str, str]) -> list[str]:
    """Notes on these runs, one sentence each. names: from `shown_names`."""
    seeds = {one.seed for one in found.played}
    lines = [f"One seed ({min(seeds)}): no interval over seeds."] if len(seeds) == 1 else []
    for one in found.played:
        if one.note:
            lines.append(f"{names[one.level]}, seed {one.seed}: {one.note}.")
    lines += [f"{names[name]}, seed {seed}: not played." for name, seed in found.missing]
    return lines


def as_json(found: ContestScores) -> dict[str, Any]:
    """The same as JSON; null where there is no interval."""

    def plain(row: LevelScore) -> dict[str, Any]:
        low, high = row.interval or (None, None)
        return {**dataclasses.asdict(row), "low": low, "high": high}

    jobs = [msgspec.to_builtins(one) for one in found.played]
    return {
        "shortfall": found.shortfall,
        "overall": plain(found.overall),
        "levels": [plain(row) for row in found.levels],
        "jobs": [{k: v for k, v in job.items() if k != "folder"} for job in jobs],
        "missing": [{"level": name, "seed": seed} for name, seed in found.missing],
    }
