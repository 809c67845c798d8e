# PYTHON_ARGCOMPLETE_OK
"""Compare runs and contests: means, intervals, and how likely one beats another.

retro-agents compare runs/mine jerk-recovering
retro-agents compare runs/a0,runs/a1 runs/b0,runs/b1 --label a b --plot comparison.png
"""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, final

from rich.console import Console
from rich.table import Table

from retro_agents.contest.entries import budgets, contest_of, incomplete_of, runs_of, single_of
from retro_agents.contest.match.scores import ContestScores
from retro_agents.contest.stored import (
    there,
)
from retro_agents.contract.envs import CONTEST_RETURNS
from retro_agents.games.procgen.games import GAMES, normalised_scores, possible_returns
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground import statistics
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import folders_of
from retro_agents.ground.output import printable
from retro_agents.ground.ranges import Part
from retro_agents.ground.results import store
from retro_agents.ground.statistics import Interval, Runs
from retro_agents.judging.score import interval_text
from retro_agents.judging.tables import number, span, terminal_table
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import read_file
from retro_agents.run.fields import field, positional
from retro_agents.run.plot import picture


@dataclasses.dataclass(frozen=True)
class CompareConfig:
    """Compare agents on the levels that they share (of Procgen, the games): the first ENTRY with
    each of the others. A difference is shown if its 95 % interval excludes 0 and both contests
    played all their steps; the intervals of several differences hold at once. P(better) is the
    probability that a run of the other beats one of the first on the same level; 0.5 is even. It
    has no interval where all runs of one beat all of the other."""

    entries: list[str] = positional("ENTRY")
    """Folders of contests and of evaluations, their result.json, shipped results (hold-right,
    jerk-hybrid, jerk-recovering, random, run-and-jump), or run folders, whose score is the mean
    return of all their episodes; several runs, or several evaluations of different runs, joined by
    commas are seeds of one entry."""
    label: tuple[str, ...] = ()
    """One label per entry; default: the names of their folders."""
    last: Part = 1.0
    """Share of each run's steps whose episodes count; 0.1: those of its last tenth."""
    plot: Path | None = field(None, needs=("matplotlib",))
    """Picture of the means and their intervals to draw."""
    out: Path | None = None
    """JSON file for the comparison."""


@final
@dataclasses.dataclass(frozen=True)
class Compared:
    """An entry on the shared levels, beside the first entry. Intervals are nan for one seed, and
    that of `better` where all runs of one beat all of the other."""

    label: str
    mean: float
    """Of the seeds that have all shared levels, or of all if there are none."""
    interval: Interval
    seeds: int
    apart: float
    """Its mean minus the first entry's."""
    apart_interval: Interval
    better: float
    """Probability that one of its runs beats one of the first entry's on the same level."""
    better_interval: Interval
    incomplete: bool = False
    """Whether runs of its contest did not play all their steps, so that no difference is shown."""


def remarks(
    contests: Mapping[str, ContestScores], runs: Mapping[str, Sequence[tuple[int, int]]]
) -> list[str]:
    """What a reader must know of the contests and runs in a comparison, by their labels. runs: from
    `budgets`."""
    lines = []
    for label, one in contests.items():
        if one.shortfall:
            lines.append(f"{label}: {one.shortfall}, so no difference from it counts as shown.")
    for label, each in runs.items():
        if cut := sum(done < whole for done, whole in each):
            lines.append(
                f"{label}: {cut} of {len(each)} runs have not played all their steps; what they "
                "reached counts."
            )
    steps = {
        label: {one.limits.get("timesteps", 0) for one in contest.played}
        for label, contest in contests.items()
    }
    total: dict[str, set[float]] = {a: {*map(max, each)} for a, each in runs.items() if each}
    for what, counts in (("steps per level", steps), ("steps", total)):
        known = {label: sorted(found - {0}) for label, found in counts.items()}
        if len(set[float]().union(*known.values())) > 1:
            said = [f"{a} {' and '.join(f'{n:,.0f}' for n in known[a]) or '?'}" for a in known]
            lines.append(f"Their {what} differ: {', '.join(said)}.")
    roms = set[tuple[str, str]]().union(*(one.roms for one in contests.values()))
    games = [game for game, _ in roms]
    if several := sorted({game for game in games if games.count(game) > 1}):
        lines.append(f"They played different ROMs of {', '.join(several)}: do not compare them.")
    return lines


def unlike(labels: Mapping[str, str], learned: Sequence[str]) -> list[str]:
    """What sets entries of several kinds apart. labels: label -> entry; learned: those of runs."""
    lines = []
    frozen = [label for label, entry in labels.items() if label not in learned]
    judged = [label for label in frozen if not contest_of(labels[label])]
    if judged and learned:
        lines.append(
            f"{', '.join(judged)} did not learn while it was scored, but {', '.join(learned)} did."
        )
    single = single_of(labels)
    for what in dict.fromkeys(single.values()):
        lines.append(
            f"{', '.join(label for label, own in single.items() if own == what)}: the intervals "
            f"are over {what} of one agent. What they show holds for each agent as it is, not for "
            "its training; for that, join evaluations of several runs by commas."
        )
    limits = dict.fromkeys(frozen, EnvConfig().episode_steps)
    for label in learned:
        config = Path(folders_of(labels[label])[0], "config.json")
        steps = read_file(config, what=str(config)).get("episode_steps") if there(config) else None
        if isinstance(steps, int):
            limits[label] = steps
    if len({*limits.values()}) > 1:
        said = ", ".join(f"{label} {steps:,}" for label, steps in limits.items())
        lines.append(f"The steps after which their episodes end at the latest differ: {said}.")
    return lines


def cautions(
    labels: Mapping[str, str], entries: Mapping[str, Runs]
) -> tuple[list[str], dict[str, str]]:
    """The remarks on a comparison, and what the seeds of a label lack. labels: label -> entry;
    entries: the scores of each."""
    contests = {label: one for label, entry in labels.items() if (one := contest_of(entry))}
    runs = {label: budgets(entry) for label, entry in labels.items() if label not in contests}
    shared = set.intersection(*map(set, entries.values()))
    here = {label: {level: own[level] for level in shared} for label, own in entries.items()}
    cut = {label: line for label, own in here.items() if (line := lacking(label, own))}
    learned = [label for label, each in runs.items() if each]
    lines = [*remarks(contests, runs), *unlike(labels, learned)]
    if normalised(shared):
        lines.append(
            "Scores are normalised by each game's published range: (R − R_min)/(R_max − R_min)."
        )
    if len(labels) > 2:
        lines.append(
            f"The intervals of the {len(labels) - 1} differences hold at once with 95 % "
            "(Bonferroni), so each is wider than alone."
        )
    return lines, cut


def lacking(label: str, runs: Runs) -> str:
    """What a reader must know of the seeds that lack levels; "" if none does."""
    every, whole = set[int]().union(*runs.values()), len(statistics.seed_means(runs))
    if whole == len(every):
        return ""
    few = {0: "there is no interval", 1: "the mean is of that one, and there is no interval"}
    what = few.get(whole, "the mean and the interval are theirs")
    return f"{label}: {whole} of {len(every)} seeds have all {len(runs)} levels, so {what}."


def labels_of(entries: Sequence[str]) -> dict[str, str]:
    """Label -> entry: the names of its folders, or all of it if two have the same."""
    names = [",".join(Path(one).resolve().name for one in folders_of(entry)) for entry in entries]
    return {
        name if names.count(name) == 1 else entry: entry
        for name, entry in zip(names, entries, strict=True)
    }


def normalised(levels: Collection[str]) -> bool:
    """Whether returns on these levels are normalised: those of several games of Procgen."""
    return len(levels) > 1 and not any(math.isnan(scaled(0.0, level)) for level in levels)


def scaled(value: float, level: str) -> float:
    """A return on "GAME MODE" of Procgen, normalised; nan if its range is not published."""
    game, _, mode = level.partition(",")[0].partition(" ")
    return normalised_scores(value, game, mode)["paper"] if game in GAMES else math.nan


def possible(levels: Collection[str]) -> Interval:
    """The least and the largest possible mean over levels, see `scaled`."""
    ends = []
    for level in levels:
        game = level.partition(" ")[0]
        own = possible_returns(game) if game in GAMES else CONTEST_RETURNS
        ends.append([scaled(end, level) for end in own] if normalised(levels) else own)
    low, high = map(fmean, zip(*ends, strict=True))
    return low, high


def compared(entries: dict[str, Runs], *, incomplete: Collection[str] = ()) -> list[Compared]:
    """All entries on the levels that all share, beside the first; the intervals of what sets them
    apart hold at once. incomplete: from `incomplete_of`. Raises UserError if there are none."""
    levels = set.intersection(*(set(runs) for runs in entries.values()))
    if not levels:
        raise UserError(
            "the entries have no level in common (a run counts on the levels that it learned on): "
            "`retro-agents evaluate` and `retro-agents contest run` let an agent play others"
        )
    runs = {label: {level: r[level] for level in sorted(levels)} for label, r in entries.items()}
    within = possible(levels)
    if normalised(levels):
        runs = {
            label: {
                level: {seed: scaled(r, level) for seed, r in seeds.items()}
                for level, seeds in own.items()
            }
            for label, own in runs.items()
        }
    first, found = next(iter(runs.values())), []
    for label, own in runs.items():
        sample, theirs = statistics.seed_means(own), statistics.seed_means(first)
        mean, apart = statistics.mean(own), statistics.mean(own) - statistics.mean(first)
        interval = statistics.t_interval(sample, within=within)
        others = max(len(runs) - 1, 1)
        apart_interval = statistics.welch_interval(sample, theirs, within=within, intervals=others)
        better = statistics.improvement(own, first), statistics.improvement_interval(own, first)
        seeds = len(sample) or max(map(len, own.values()))
        measured = mean, interval, seeds, apart, apart_interval, *better
        found.append(Compared(label, *measured, incomplete=label in incomplete))
    return found


def shown_interval(interval: Interval) -> str:
    """An interval of returns, with decimals if they are small; a dash if there is none."""
    return span(interval).replace("−", "-") or "–"


def tables(
    found: Sequence[Compared], *, levels: Collection[str], single: Mapping[str, str]
) -> tuple[Table, Table]:
    """The means, and what sets each entry apart from the first. single: from `single_of`."""
    means, others = [], []
    for one in found:
        seeds = f"{one.seeds}{' episodes' if single.get(one.label) == 'episodes' else ''}"
        means.append([one.label, number(one.mean), shown_interval(one.interval), seeds])
    for one in found[1:]:
        low, high = one.apart_interval
        unknown = math.isnan(low) and math.isnan(one.better_interval[0])
        better = "–" if unknown else f"{one.better:.2f}"
        yes = "yes, as it is" if {one.label, found[0].label} & {*single} else "yes"
        shown = yes if low > 0.0 or high < 0.0 else "no"
        shown = "incomplete" if one.incomplete or found[0].incomplete else shown
        apart = f"{'-' if one.apart < 0.0 else '+'}{number(abs(one.apart))}"
        cells = [apart, shown_interval(one.apart_interval), shown, better]
        others.append([one.label, *cells, interval_text(one.better_interval, digits=2)])
    what = "Mean normalised scores" if normalised(levels) else "Mean returns"
    title = f"{what} on {len(levels)} shared level{'s' if len(levels) > 1 else ''}"
    head = ["", "apart", "95 %", "shown", "P(better)", "95 %"]
    return (
        terminal_table(["", "mean", "95 %", "seeds"], means, title=title),
        terminal_table(head, others, title=f"Compared with {found[0].label}"),
    )


def draw(found: Sequence[Compared], out: Path, *, levels: Collection[str] = ()) -> None:
    """Draw the means with their intervals. Raises UserError if `out` cannot be written."""
    what = "normalised score" if normalised(levels) else "return"
    with picture(out, x=f"mean {what} on the shared levels, and its 95 % interval", y="") as axes:
        for number, one in enumerate(found):
            low, high = one.interval
            ends = max(0.0, one.mean - low), max(0.0, high - one.mean)  # but for rounding
            errors: Any = None if math.isnan(low) else [[end] for end in ends]
            axes.errorbar(one.mean, -number, xerr=errors, fmt="o", capsize=4, color=f"C{number}")
        labels = [printable(one.label) for one in found]
        axes.set_yticks([-number for number in range(len(found))], labels, parse_math=False)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Compare the entries of the command line."""
    config = parse_command(CompareConfig, argv, command="retro-agents compare")
    if len(set(config.entries)) < 2:
        raise UserError("a comparison needs two entries: give another run, contest or result")
    if config.label and (count := len(config.label)) != len(config.entries):
        raise UserError(f"{len(config.entries)} entries but {count} labels; give one per entry")
    if len(set(config.label)) < len(config.label):
        raise UserError("--label names two entries alike: give each a label of its own")
    labels = dict(zip(config.label, config.entries, strict=True)) if config.label else {}
    labels = labels or labels_of([*dict.fromkeys(config.entries)])
    entries = {label: runs_of(entry, last=config.last) for label, entry in labels.items()}
    found = compared(entries, incomplete=incomplete_of(labels))
    levels = set.intersection(*map(set, entries.values()))
    lines, cut = cautions(labels, entries)
    if config.out is not None:
        rows = [*map(dataclasses.asdict, found)]
        said = {"levels": len(levels), "remarks": [*lines, *cut.values()]}
        store(config.out, {**said, "entries": rows})
    if config.plot is not None:
        draw(found, config.plot, levels=levels)
    for table in tables(found, levels=levels, single=single_of(labels)):
        Console().print(table)
    for line in (*lines, *cut.values()):
        print(line)
    if single := [one.label for one in found if one.seeds < 2 and one.label not in cut]:
        print(
            f"An interval needs two seeds or more of each entry, and there is one of "
            f"{', '.join(single)}: join runs by commas, such as runs/a0,runs/a1, or play more: "
            "--seeds of a contest, --episodes of an evaluation."
        )


if __name__ == "__main__":
    main()
