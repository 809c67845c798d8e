# PYTHON_ARGCOMPLETE_OK
"""Compare runs and contests: means, intervals, and how likely one beats another.

retro-agents compare runs/mine jerk-recovering
retro-agents compare runs/a0,runs/a1 runs/b0,runs/b1 --plot comparison.png
"""

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

from rich.console import Console
from rich.table import Table

from retro_agents.contest.match.folder import facts_of, read_facts
from retro_agents.contest.match.scores import ContestScores, read_scores
from retro_agents.contest.stored import read_evaluation, read_stored, shipped, stored_file
from retro_agents.contract.envs import CONTEST_RETURNS
from retro_agents.games.procgen.games import GAMES
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground import statistics
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import complete_checkpoints, folders_of, step_of, why_no_run
from retro_agents.ground.names import nearest_text
from retro_agents.ground.output import printable
from retro_agents.ground.results import read_result, store
from retro_agents.ground.statistics import ANYWHERE, Interval, Runs
from retro_agents.judging.score import interval_text, read_episodes
from retro_agents.judging.tables import number, span, terminal_table
from retro_agents.run.agents import is_package
from retro_agents.run.agents import shipped as shipped_agent
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import read_file
from retro_agents.run.fields import field, positional
from retro_agents.run.plot import picture

there = os.path.isfile
"""Path.is_file raises OSError for the names of many runs, joined, which are too long for one."""


@dataclasses.dataclass(frozen=True)
class CompareConfig:
    """Compare agents on the levels that they share (of Procgen, the games): the first ENTRY with
    each of the others. A difference is shown if its 95 % interval excludes 0. P(better) is the
    probability that a run of the other beats one of the first on the same level; 0.5 is even. It
    has no interval where all runs of one beat all of the other."""

    entries: list[str] = positional("ENTRY")
    """Folders of contests and of evaluations, their result.json, shipped results (hold-right,
    jerk-hybrid, jerk-recovering, random, run-and-jump), or run folders, whose score is the mean
    return of all their episodes; several runs joined by commas are seeds of one entry."""
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


def runs_of(entry: str) -> Runs:
    """The scores of an entry: level -> seed -> mean return; of Procgen, a game counts as a level.
    Raises UserError if it has none."""
    if contest := contest_of(entry):
        return {row.level: row.by_seed for row in contest.levels}
    if evaluation := evaluation_of(entry):
        return read_evaluation(evaluation)
    found: dict[str, dict[int, float]] = {}
    runs: list[tuple[int, dict[str, float]]] = []
    for place, folder in enumerate(map(Path, folders_of(entry))):
        if not there(folder / "episodes.csv"):
            if "," in entry:
                raise UserError(f"{entry}: {folder} is not a run; join only run folders by commas")
            near = (why_no_run(folder) if folder.exists() else "") or nearest_text(entry, shipped())
            if is_package(entry):
                agent = entry if shipped_agent(entry) else "RUN"
                near = f"it is an agent: compare what `retro-agents evaluate {agent}` stores"
            raise UserError(f"there is no contest, run or evaluation {folder}; {near}")
        returns: dict[str, list[float]] = {}
        for episode in read_episodes(folder):
            game = episode.level.partition(":")[0]  # of Procgen, whose levels hardly recur
            returns.setdefault(game if game in GAMES else episode.level, []).append(episode.r)
        config = folder / "config.json"
        seed = read_file(config, what=str(config)).get("seed")
        if not returns:
            raise UserError(f"{folder}: no episode has ended; let it play longer")
        seed = seed if isinstance(seed, int) else place  # a damaged file tells none
        means = {level: math.fsum(values) / len(values) for level, values in returns.items()}
        if (seed, means) in runs:
            continue  # the same run again, or its repetition: one seed
        own = -1 - place if any(seed == one for one, _ in runs) else seed
        runs.append((seed, means))
        for level, mean in means.items():
            found.setdefault(level, {})[own] = mean
    return found


def evaluation_of(entry: str) -> Path | None:
    """The result.json of an evaluation, which an entry names or whose folder it is; else None."""
    path = Path(entry)
    if there(path / "result.json") and not there(path / "episodes.csv"):
        return path / "result.json"
    found = read_result(path) if path.suffix == ".json" and there(path) else {}
    return path if "returns" in found else None


def contest_of(entry: str) -> ContestScores | None:
    """The scores of a contest's folder or stored result; None if the entry is neither. A folder of
    a stored result's name is meant only if it has scores of its own."""
    if there(path := Path(entry) / "contest.json"):
        planned = facts_of(read_facts(path.parent), path).planned
        return read_scores(path.parent, planned=planned)
    own = evaluation_of(entry) or there(Path(entry) / "episodes.csv")
    stored = None if own else stored_file(entry)
    return read_stored(stored)[1] if stored else None


def budgets(entry: str) -> list[tuple[int, int]]:
    """Of each run of an entry: the steps of its newest checkpoint, and those that it was to have.
    One without a checkpoint counts as whole."""
    found = []
    for folder in map(Path, folders_of(entry)):
        if there(folder / "episodes.csv") and there(config := folder / "config.json"):
            steps = read_file(config, what=str(config)).get("timesteps")
            whole = steps if isinstance(steps, int) else 0  # a damaged file tells none
            saved = complete_checkpoints(folder / "checkpoints")
            found.append((step_of(saved[-1]) if saved else whole, whole))
    return found


def remarks(
    contests: Mapping[str, ContestScores], runs: Mapping[str, Sequence[tuple[int, int]]]
) -> list[str]:
    """What a reader must know of the contests and runs in a comparison, by their labels. runs: from
    `budgets`."""
    lines = []
    for label, one in contests.items():
        planned = len(one.played) + len(one.missing)
        if cut := planned - sum(played.whole for played in one.played):
            lines.append(
                f"{label}: {cut} of {planned} runs did not play all their steps; what they reached "
                "counts."
            )
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
    if judged := [label for label in frozen if not contest_of(labels[label])] if learned else []:
        lines.append(
            f"{', '.join(judged)} did not learn while it was scored, but {', '.join(learned)} did; "
            "and its interval is over episodes of one agent, not over runs."
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
    return [*remarks(contests, runs), *unlike(labels, learned)], cut


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


def compared(entries: dict[str, Runs]) -> list[Compared]:
    """All entries on the levels that all share, beside the first. Raises UserError if there are
    none."""
    levels = set.intersection(*(set(runs) for runs in entries.values()))
    if not levels:
        raise UserError(
            "the entries have no level in common (a run counts on the levels that it learned on): "
            "`retro-agents evaluate` and `retro-agents contest run` let an agent play others"
        )
    runs = {label: {level: r[level] for level in sorted(levels)} for label, r in entries.items()}
    within = ANYWHERE if levels & {*GAMES} else CONTEST_RETURNS  # fruitbot's can be negative
    first, found = next(iter(runs.values())), []
    for label, own in runs.items():
        sample, theirs = statistics.seed_means(own), statistics.seed_means(first)
        mean, apart = statistics.mean(own), statistics.mean(own) - statistics.mean(first)
        interval = statistics.t_interval(sample, within=within)
        apart_interval = statistics.welch_interval(sample, theirs, within=within)
        better = statistics.improvement(own, first), statistics.improvement_interval(own, first)
        seeds = len(sample) or max(map(len, own.values()))
        found.append(Compared(label, mean, interval, seeds, apart, apart_interval, *better))
    return found


def shown_interval(interval: Interval) -> str:
    """An interval of returns, with decimals if they are small; a dash if there is none."""
    return span(interval).replace("−", "-") or "–"


def tables(found: Sequence[Compared], *, levels: int) -> tuple[Table, Table]:
    """The means, and what sets each entry apart from the first."""
    means, others = [], []
    for one in found:
        means.append([one.label, number(one.mean), shown_interval(one.interval), str(one.seeds)])
    for one in found[1:]:
        low, high = one.apart_interval
        unknown = math.isnan(low) and math.isnan(one.better_interval[0])
        better = "–" if unknown else f"{one.better:.2f}"
        shown = "yes" if low > 0.0 or high < 0.0 else "no"
        apart = f"{'-' if one.apart < 0.0 else '+'}{number(abs(one.apart))}"
        cells = [apart, shown_interval(one.apart_interval), shown, better]
        others.append([one.label, *cells, interval_text(one.better_interval, digits=2)])
    title = f"Mean returns on {levels} shared level{'s' if levels > 1 else ''}"
    head = ["", "apart", "95 %", "shown", "P(better)", "95 %"]
    return (
        terminal_table(["", "mean", "95 %", "seeds or episodes"], means, title=title),
        terminal_table(head, others, title=f"Compared with {found[0].label}"),
    )


def draw(found: Sequence[Compared], out: Path) -> None:
    """Draw the means with their intervals. Raises UserError if `out` cannot be written."""
    with picture(out, x="mean return on the shared levels", y="") as axes:
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
    labels = labels_of([*dict.fromkeys(config.entries)])
    entries = {label: runs_of(entry) for label, entry in labels.items()}
    found = compared(entries)
    levels = len(set.intersection(*map(set, entries.values())))
    if config.out is not None:
        store(config.out, {"levels": levels, "entries": [*map(dataclasses.asdict, found)]})
    if config.plot is not None:
        draw(found, config.plot)
    for table in tables(found, levels=levels):
        Console().print(table)
    lines, cut = cautions(labels, entries)
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
