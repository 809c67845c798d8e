"""Compares runs with each other and with published results, as Markdown and as plots.

retro-agents procgen table runs/coinrun runs/fish --out table.md --plot curves.png
--gap gap.png
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import normalised_scores, parse_games, possible_returns
from retro_agents.games.procgen.levels import tested_on
from retro_agents.ground import statistics
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import complete_checkpoints, write_text
from retro_agents.ground.results import read_result
from retro_agents.judging.tables import bracketed, decimal, number, records, with_interval
from retro_agents.run.agents import find
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import flat, to_dict
from retro_agents.run.fields import fields, positional
from retro_agents.run.metrics import read_columns
from retro_agents.run.plot import picture

PUBLISHED = Path(__file__).parent / "published.json"
LAST = 100
"""A return during training is the mean of so many training episodes, as published."""
BAND = "lowest to highest run"
"""What the band around the mean of several runs is."""
Key = tuple[Any, ...]
"""The key of a row or a line: its subject, then agent and settings."""


@dataclasses.dataclass(frozen=True)
class TableConfig:
    """Compare runs on Procgen with each other and with published results."""

    runs: tuple[Path, ...] = positional("RUN")
    """Run folders. Runs with the same agent, settings, game, steps and test levels are seeds of one
    row. Evaluations with --play are left out: the agent plays as its checkpoint says."""
    constants: Literal["paper", "repository"] = "paper"
    """Ranges of normalised scores: paper, or repository (jumper and leaper differ)."""
    out: Path = Path("table.md")
    """The Markdown file to write."""
    plot: Path | None = None
    """PNG to write: train and test returns over steps, for runs with evaluate_every."""
    gap: Path | None = None
    """PNG to write: train and test returns over the number of levels."""


class Row(NamedTuple):
    """One game of one run. train, test: means of its newest evaluations; nan without one."""

    game: str
    mode: str
    num_levels: int
    env_steps: int
    test_levels: str
    """The levels of `test`: unseen or all; "" if test is nan."""
    agent: str
    settings: tuple[tuple[str, str], ...]
    """Settings from its config, see `telling`."""
    while_training: float
    """Mean return of the last episodes before env_steps."""
    train: float
    test: float
    tested_while_training: str
    """The levels that --evaluate-every tested on, or would have: unseen or all."""
    seed: int
    """Of the training."""

    @property
    def key(self) -> Key:
        """What the seeds of a row have in common."""
        return self[:7]


def rows_of(run: Path) -> list[Row]:
    """A run's rows, by games and test levels. Raises UserError if it is no run on Procgen, or if it
    has no episodes or no checkpoint yet."""
    config = read_result(run / "config.json", expected="expected a run folder")
    levels, env = str(config.get("run", {}).get("levels", "")), config.get("env", {})
    if "distribution_mode" not in env:
        raise UserError(f"{run} is no run on Procgen, but on {levels or 'something else'}")
    episodes = read_columns(run / "episodes.csv")
    if lacking := {"step", "r", "level"} - episodes.keys():
        raise UserError(f"{run}/episodes.csv is damaged: it lacks the column {min(lacking)}")
    if not len(episodes["r"]):
        raise UserError(f"{run} has no episodes yet")
    agent, steps, train, tests = newest(run)
    seed = config["run"].get("seed", 0)
    settings = telling(config, agent)
    names = np.array([str(level).partition(":")[0] for level in episodes["level"]])
    mode = env["distribution_mode"]
    count = 1 if mode == "exploration" else env["num_levels"]
    watched = tested_on(config.get("evaluation", {}).get("test_levels", "auto"), mode, count)
    rows = []
    for game in parse_games(levels):
        mine = episodes["r"][(names == game) & (episodes["step"] <= steps)][-LAST:]
        last = float(mine.mean()) if len(mine) else math.nan
        for tested, test in (tests or {"": {}}).items():
            of = (game, mode, count, steps, tested, agent, settings)
            rows.append(Row(*of, last, mean_of(train, game), mean_of(test, game), watched, seed))
    return rows


def telling(config: Mapping[str, Any], agent: str) -> tuple[tuple[str, str], ...]:
    """Fields and values of a run's config that distinguish its settings from others. Leaves out the
    folder, the seed, the machine and reports; the number of levels, which has its own column; and
    rotate_every, which Procgen does not use."""
    same = {"num_levels", "rotate_every"}
    for part in (find(agent).Config, ProcgenConfig):
        same |= {*fields(part, "launch", "report"), *fields(part, "machine", but="learning")}
    return tuple(sorted((name, str(v)) for name, v in flat(config).items() if name not in same))


def mean_of(games: Mapping[str, Any], game: str) -> float:
    """A game's mean return in a set of an evaluation; nan where it has none."""
    return float(games.get(game, {}).get("mean", math.nan))


def newest(run: Path) -> tuple[str, int, dict[str, Any], dict[str, Any]]:
    """Agent and env_steps of a run's newest evaluations without --play; its games on training
    levels; unseen or all -> its games on those test levels, each of the evaluation with the most
    episodes, of several the last by name. Without evaluations: of its newest checkpoint, without
    games. Raises UserError if none."""
    paths = sorted(run.glob("evaluations/*-trained*/result.json"))
    found = [result for result in map(evaluation, paths) if "play" not in result]
    steps = max((result["env_steps"] for result in found), default=0)
    train, tests = dict[str, Any](), dict[str, Any]()
    for result in sorted(found, key=episodes_of):
        if result["env_steps"] == steps:
            train = result["sets"].get("train", train)
            if "test" in result["sets"]:
                tested = "unseen" if result["test_levels"]["count"] else "all"
                tests[tested] = result["sets"]["test"]
    if found:
        return found[0]["agent"], steps, train, tests
    if not (saved := complete_checkpoints(run / "checkpoints")):
        raise UserError(f"{run} has neither a checkpoint nor an evaluation: leave it out")
    meta = read_result(saved[-1] / "meta.json")
    return meta["agent"], meta["counters"]["env_steps"], train, tests


def evaluation(path: Path) -> dict[str, Any]:
    """Read a result of `retro-agents procgen evaluate`. Raises UserError if it is none."""
    result = read_result(path)
    if lacking := {"agent", "env_steps", "test_levels", "sets"} - result.keys():
        raise UserError(f"{path} is damaged: it lacks {min(lacking)}; move it away")
    return result


def episodes_of(result: Mapping[str, Any]) -> int:
    """Number of episodes that an evaluation has of each game on each set."""
    games = [game for games in result["sets"].values() for game in games.values()]
    return min((len(game["returns"]) for game in games), default=0)


def grouped(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Rows by their keys. A row without a test joins all groups that are otherwise the same."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.key, []).append(row)
    joined = set[Key]()
    for tested in [rows for rows in groups.values() if rows[0].test_levels]:
        key = tested[0]._replace(test_levels="").key
        tested += groups.get(key, [])
        joined.add(key)
    return {key: rows for key, rows in groups.items() if key not in joined}


def named(key: Key, keys: Iterable[Key]) -> str:
    """A key's agent, and the settings in which it differs from otherwise equal keys."""
    *_, agent, settings = key
    alike = [dict(other[-1]) for other in keys if other[:-1] == key[:-1]]
    own = [f"{k}={v}" for k, v in settings if any(other.get(k) != v for other in alike)]
    return " ".join([agent, *own])


def published(row: Row) -> list[str]:
    """The published results at the row's number of steps, interpolated linearly. Runs end with a
    whole rollout, so up to one per cent more or fewer steps are matched too. Empty if the row's
    game was not played under the published conditions."""
    settings, usual = dict(row.settings), to_dict(ProcgenConfig()) | {"distribution_mode": row.mode}
    rules = {name: str(usual[name]) for name in fields(ProcgenConfig, "rules")}
    if any(settings.get(name, value) != value for name, value in rules.items()):
        return []
    if len(parse_games(settings.get("levels", row.game))) > 1:
        return []
    found = []
    for name, source in read_result(PUBLISHED).items():
        steps, conditions = source["steps"], (source["mode"], source["num_levels"])
        near = 0.99 * steps[0] <= row.env_steps <= 1.01 * steps[-1]
        if near and row.game in source["train"] and conditions == (row.mode, row.num_levels):
            train, sd, test = (
                decimal(np.interp(row.env_steps, steps, source[part][row.game]), 2)
                if part in source
                else ""
                for part in ("train", "train_sd", "test")
            )
            text = train + (f" ± {sd}" if sd else "")
            text += f" → {test} on {source['test_levels']}" if test else ""
            found.append(f"{text} ({name})")
    return found


def known(values: Iterable[float]) -> list[float]:
    """The values that are not nan."""
    return [value for value in values if not math.isnan(value)]


def summarised(values: Sequence[float], within: Sequence[float], digits: int = 2) -> str:
    """Mean of the known values; its 95 % interval of several; their number if some lack. within:
    the least and the largest possible value."""
    if not (having := known(values)):
        return ""
    some = f", {len(having)} of {len(values)}" if len(having) < len(values) else ""
    return with_interval(having, within=(within[0], within[1]), digits=digits) + some


def trained(rows: Sequence[Row]) -> tuple[str, list[float]]:
    """How the returns on training levels of a group were measured, and these: evaluated, of some
    rows perhaps nan, or while training."""
    if known(found := [row.train for row in rows]):
        return "evaluated", found
    return "while training", [row.while_training for row in rows]


def page(groups: Mapping[Key, Sequence[Row]], *, constants: str) -> str:
    """Groups of seeds as Markdown, followed by their mean normalised scores over games."""
    lines = list[dict[str, str]]()
    for key, rows in sorted(groups.items()):
        game, mode, levels, steps, tested, *_ = key
        low, high = within = possible_returns(game)
        limits, train, test = (
            [normalised_scores(value, game, mode)[constants] for value in values]
            for values in (within, trained(rows)[1], [row.test for row in rows])
        )
        lines.append({
            "game": game,
            "mode": mode,
            "levels": number(levels) if levels else "all",
            "steps": number(steps),
            "agent": named(key, groups),
            "seeds": str(len(rows)),
            "last 100 in training": summarised([row.while_training for row in rows], within),
            "train": summarised([row.train for row in rows], within),
            "test": summarised([row.test for row in rows], within),
            "test on": tested,
            "gap": summarised([row.train - row.test for row in rows], (low - high, high - low)),
            "normalised, train": summarised(train, limits, 3),
            "normalised, test": summarised(test, limits, 3),
            "published": "; ".join(published(rows[0])),
        })  # fmt: skip
    return "\n\n".join([records(lines), *mean_scores(groups, constants=constants)]) + "\n"


def mean_scores(groups: Mapping[Key, Sequence[Row]], *, constants: str) -> list[str]:
    """A line for each mean normalised score over games: of training or of test levels, of an agent
    with the same settings on one mode, number of levels and steps, either evaluated or while
    training. Its interval is over the means of the seeds that have all games."""
    scores = dict[Key, dict[str, dict[int, float]]]()
    for (game, mode, levels, steps, tested, agent, settings), rows in sorted(groups.items()):
        alike, (how, train) = tuple(pair for pair in settings if pair[0] != "levels"), trained(rows)
        test = f"test levels ({tested})", "evaluated", [row.test for row in rows]
        for where, way, returns in (("training levels", how, train), test):
            of = (mode, levels, steps, where, way, agent, alike)
            for row, value in zip(rows, returns, strict=True):
                score = normalised_scores(value, game, mode)[constants]
                if not math.isnan(score):
                    own = scores.setdefault(of, {}).setdefault(game, {})
                    other = own.get(row.seed, score) != score  # another run of this seed
                    own[-1 - len(own) if other else row.seed] = score
    lines = []
    for of, games in scores.items():
        mode, levels, steps, where, way, *_ = of
        if len(games) > 1:
            means, every = statistics.seed_means(games), len(set[int]().union(*games.values()))
            some = f", {len(means)} of {every} seeds" if 0 < len(means) < every else ""
            ends = [
                [normalised_scores(end, game, mode)[constants] for end in possible_returns(game)]
                for game in games
            ]
            low, high = map(fmean, zip(*ends, strict=True))
            interval = statistics.t_interval(means, within=(low, high))
            who = f"{named(of, scores)} over {len(games)} games"
            what = f"{mode}, {number(levels) if levels else 'all'} levels, {steps:,} steps, {way}"
            mean = f"{decimal(statistics.mean(games), 3)}{bracketed(interval, 3)}{some}"
            lines.append(f"Mean normalised score on {where} of {who}, {what} ({constants}): {mean}")
    return lines


def plot_steps(runs: Mapping[str, Sequence[Path]], out: Path) -> None:
    """Train and test returns over steps: the mean over runs, with a band from minimum to maximum;
    for a single run its standard deviation over episodes."""
    single = "one run's standard deviation over episodes"
    kinds = [BAND if len(folders) > 1 else single for folders in runs.values()]
    with picture(out, x=f"agent steps (bands: {', or '.join(dict.fromkeys(kinds))})") as axes:
        for number, (label, folders) in enumerate(runs.items()):
            for name, style in (("train", "-"), ("test", "--")):
                curves = [evaluated(folder, name) for folder in folders]
                steps = shared([steps for steps, *_ in curves], label)
                values = [curve[np.isin(own, steps)] for own, curve, _ in curves]
                if len(curves) == 1:
                    spread = curves[0][2]
                    values = [values[0] - spread, values[0], values[0] + spread]
                band(axes, steps, np.transpose(values), style, f"C{number}", f"{label} {name}")
    print(out)


def band(axes: Any, x: Any, values: Any, style: str, colour: str, label: str) -> None:
    """A line of the means of some values at each x, in a band from minimum to maximum."""
    axes.plot(x, [np.mean(at) for at in values], style, color=colour, label=label)
    axes.fill_between(x, [*map(min, values)], [*map(max, values)], alpha=0.15, color=colour)


def shared(steps: Sequence[NDArray[np.float64]], label: str) -> NDArray[np.float64]:
    """The steps at which all runs of a label were evaluated. Raises UserError if there are none."""
    found = reduce(np.intersect1d, steps)
    if not len(found):
        raise UserError(f"the runs of {label} were never evaluated at the same steps; plot others")
    return found


def evaluated(folder: Path, name: str) -> list[np.ndarray]:
    """Steps, mean returns and standard deviations of a run's evaluations on a set of levels.
    Raises UserError if it has none."""
    columns = read_columns(folder / "metrics.csv")
    if f"{name}_return" not in columns:
        raise UserError(f"{folder} was not evaluated while it learned; plot others")
    good = np.isfinite(columns[f"{name}_return"])
    return [columns[kind][good] for kind in ("step", f"{name}_return", f"{name}_std")]


def plot_levels(groups: Mapping[Key, Sequence[Row]], out: Path) -> None:
    """Train and test returns over the number of levels, a line for each game and agent."""
    lines: dict[Key, list[tuple[int, Sequence[Row]]]] = {}
    for (game, mode, levels, _, tested, *who), rows in sorted(groups.items()):
        if levels and tested:
            lines.setdefault((game, mode, tested, *who), []).append((levels, rows))
    if not lines:
        raise UserError("no run with a limited number of levels was tested, as --gap requires")
    several = any(len(rows) > 1 for mine in lines.values() for _, rows in mine)
    with picture(out, x="training levels" + several * f" (bands: {BAND})") as axes:
        axes.set_xscale("log")
        for number, (line, mine) in enumerate(lines.items()):
            counts = [levels for levels, _ in mine]
            for name, style, on in (("train", "-o", ""), ("test", "--s", f" on {line[2]}")):
                values = [known(getattr(r, name) for r in rows) or [math.nan] for _, rows in mine]
                label = f"{line[0]} {named(line, lines)} {name}{on}"
                band(axes, counts, values, style, f"C{number}", label)
    print(out)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Compare the runs that the command line names."""
    config = parse_command(TableConfig, argv, command="retro-agents procgen table")
    found: list[Row] = []
    curves: dict[Key, list[Path]] = {}
    for run in {run.resolve(): run for run in config.runs}.values():
        rows = rows_of(run)
        found += rows
        games, one = "+".join(dict.fromkeys(row.game for row in rows)), rows[0]
        levels = f"{one.num_levels} levels" if one.num_levels else "all levels"
        place = f"{games} {one.mode}, {levels}, tested on {one.tested_while_training}"
        curves.setdefault((place, one.agent, one.settings), []).append(run)
    groups = grouped(found)
    text = page(groups, constants=config.constants)
    print(text, end="")
    write_text(config.out, text)
    if config.plot:
        labels = {f"{key[0]}, {named(key, curves)}": runs for key, runs in curves.items()}
        plot_steps(labels, config.plot)
    if config.gap:
        plot_levels(groups, config.gap)


if __name__ == "__main__":
    main()
