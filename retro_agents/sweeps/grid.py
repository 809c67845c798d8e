"""A grid as a study of one kind per combination: its cells run, go on and are refused as these."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from retro_agents.games.families import check_levels, levels_with
from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest_text
from retro_agents.judging.tables import NOTHING, number, table
from retro_agents.run.agents import find
from retro_agents.run.command_line import load_config
from retro_agents.run.config import flat, to_dict
from retro_agents.run.fields import fields, flag_of
from retro_agents.run.metrics import read_columns
from retro_agents.run.plot import picture
from retro_agents.run.settings import RunSettings
from retro_agents.sweeps.config import SweepConfig
from retro_agents.sweeps.launcher import LAST, last_rows, record_of
from retro_agents.sweeps.study import Kind, Study, cells

RETURNS = {"return": "return", "train_return": "train levels", "test_return": "test levels"}
"""What a run's record has of its end, where it is known -> what it is called."""
SCORES = {
    **RETURNS,
    "train_normalised_paper": "train levels, normalised",
    "test_normalised_paper": "test levels, normalised",
}
"""These, and Procgen's normalised returns."""
WIDE = 20.0
"""The largest value over the smallest from which on an axis is logarithmic."""
Point = dict[str, str]
"""Field -> value, as text."""


class Scores(NamedTuple):
    """A point, the seeds that are complete, and score -> (mean, two standard deviations: over
    seeds; of one, over the rows of its metrics that the mean is of; nan of one row)."""

    point: Point
    seeds: int
    found: dict[str, tuple[float, float]]


def read_grid(words: Sequence[str]) -> dict[str, list[str]]:
    """FIELD=A,B or FIELD=A;B -> field -> values. UserError: a word is none of these."""
    grid: dict[str, list[str]] = {}
    for word in words:
        name, _, text = word.partition("=")
        field = name.lstrip("-").replace("-", "_")
        values = [value.strip() for value in text.split(";" if ";" in text else ",")]
        bad = [value for value in values if not value or "/" in value or len(value.split()) > 1]
        if not field or bad or field in grid or len(set(values)) < len(values):
            raise UserError(
                f"--grid {word!r}: expected FIELD=A,B,C, each field and each value once, no spaces "
                "or slashes; where values have commas, ; between them: widths=16,32,32;32,64,64"
            )
        if field in fields(RunSettings, "launch"):
            raise UserError(f"--grid {field}: a sweep gives that to each run itself")
        grid[field] = values
    return grid


def points(grid: Mapping[str, Sequence[str]]) -> list[Point]:
    """All combinations, the last field's values changing first."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def words_of(point: Mapping[str, str], known: Mapping[str, Any]) -> list[str]:
    """A point as flags. known: the agent's config, flat, which says what is a switch.

    UserError: the agent has no such field."""
    words = []
    for name, value in point.items():
        if name not in known:
            here = f"{known['levels']} has no field {name!r}" if "levels" in known else ""
            if here and (others := levels_with(name)):
                raise UserError(f"{here}, which others have: give --levels such as {others[0]}")
            raise UserError(f"the agent has no field {name!r}; {nearest_text(name, known)}")
        flag = flag_of(name)
        if isinstance(known[name], bool) and value.lower() in ("true", "false"):
            words.append(flag if value.lower() == "true" else f"--no-{flag[2:]}")
        else:
            words.append(f"{flag}={value}")
    return words


def further(config: SweepConfig) -> list[str]:
    """The words of --flags. UserError: one of them is what a sweep gives to each run itself."""
    words, given = config.flags.split(), {*fields(RunSettings, "launch"), "preset", "config"}
    for word in words:
        name = word.lstrip("-").partition("=")[0].replace("-", "_")
        if word.startswith("--") and name in given:
            raise UserError(f"--flags {word}: a sweep gives that to each run itself")
    return words


def agent_config(config: SweepConfig, words: Sequence[str] = ()) -> Any:
    """The config of the agent that all runs share, with further words. UserError: a bad one."""
    package = find(config.agent)
    everyone = ["--preset", config.preset] if config.preset else []
    everyone += ["--levels", config.levels] if config.levels else []
    everyone += ["--timesteps", str(config.timesteps)] if config.timesteps else []
    said = [*everyone, *further(config), *words]
    return load_config(package.Config, said, presets=package.PRESETS, command="")


def possible(config: SweepConfig, words: Sequence[str]) -> Any:
    """`agent_config`. UserError: also what only a run would find, of its levels or its net."""
    found = agent_config(config, words)
    check_levels(found.run.levels, found.env)
    find(config.agent).build(to_dict(found))
    return found


def study_of(config: SweepConfig) -> tuple[Study, dict[str, Point]]:
    """The grid's study, and the point of each of its kinds.

    UserError: the agent refuses a point; so nothing runs before all are known to be possible."""
    # Without --flags, which may hold with each point only.
    values = flat(to_dict(agent_config(dataclasses.replace(config, flags=""))))
    first = ["--preset", config.preset] if config.preset else []
    kinds, named = dict[str, Kind](), dict[str, Point]()
    known = list[Any]()
    for point in points(read_grid(config.grid)):
        words = words_of(point, values)
        found = possible(config, words)
        name = ",".join(f"{field}={value}" for field, value in point.items())
        if found in known:
            raise UserError(f"--grid: {name} is {list(named)[known.index(found)]} once more")
        known.append(found)
        run = found.run
        named[name] = point
        kinds[name] = Kind(
            run=f"{config.agent}.train",
            flags=(*first, *further(config), *words),
            levels=run.levels,
            steps=run.timesteps,
            together=True,
            last=tuple(SCORES),
        )
    about = f"{config.agent} over {', '.join(config.grid)}"
    return Study(about=about, seeds=config.seeds, kinds=kinds, keep=True), named


def collect(study: Study, named: Mapping[str, Point], out: Path) -> list[Scores]:
    """The points that have a complete run."""
    result = []
    for name, point in named.items():
        records = {c: r for c in cells(study, name) if (r := record_of(study, c, out))}
        ends = [record.get("last", {}) for record in records.values()]
        alone = row_spreads(out / next(iter(records)).name) if len(records) == 1 else {}
        found = {
            score: (fmean(values), alone.get(score, two_sigma(values)))
            for score in SCORES
            if (values := [end[score] for end in ends if score in end])
        }
        if records:
            result.append(Scores(point, len(records), found))
    return result


def two_sigma(values: Sequence[float]) -> float:
    """Two standard deviations; nan of one value."""
    return 2.0 * stdev(values) if len(values) > 1 else math.nan


def row_spreads(folder: Path) -> dict[str, float]:
    """Score -> two standard deviations over the rows of a run's metrics in its last tenth; none
    where the run's folder is gone."""
    columns = {"mean_return" if score == "return" else score: score for score in SCORES}
    path = folder / "metrics.csv"
    rows = last_rows(read_columns(path), list(columns)) if path.is_file() else {}
    return {columns[name]: two_sigma(values.tolist()) for name, values in rows.items()}


def markdown(rows: Sequence[Scores]) -> str:
    """One table, a row per point."""
    if not rows:
        return NOTHING
    names = [name for name in SCORES if any(name in row.found for row in rows)]
    head = [*rows[0].point, "seeds", *(f"{SCORES[name]} ± 2 σ" for name in names)]

    def cell(row: Scores, name: str) -> str:
        mean, spread = row.found.get(name, (math.nan, math.nan))
        return number(mean) if math.isnan(spread) else f"{number(mean)} ± {number(spread)}"

    lines = [
        [*row.point.values(), str(row.seeds), *(cell(row, name) for name in names)] for row in rows
    ]
    note = f"Means over the last {LAST:.0%} of each run's steps; σ: {deviation(rows)}."
    return f"{table(head, lines)}\n\n{note}"


def deviation(rows: Sequence[Scores]) -> str:
    """What σ is of in these rows."""
    own = "over the rows of a run's metrics there"
    if all(row.seeds == 1 for row in rows):
        return f"the deviation {own}, for there is one seed"
    mixed = f"; of one seed, {own}" if any(row.seeds == 1 for row in rows) else ""
    return f"their deviation over seeds{mixed}"


def draw(rows: Sequence[Scores], out: Path, *, title: str) -> None:
    """The score over the first field, with two standard deviations, a line for each combination of
    the others and for each kind of score."""
    field, *others = rows[0].point
    lines: dict[str, dict[str, tuple[float, float]]] = {}
    names = [name for name in RETURNS if any(name in row.found for row in rows)]
    names = [name for name in names if name != "return"] or names
    for row, name in itertools.product(rows, names):
        if name in row.found:
            label = " ".join(f"{other}={row.point[other]}" for other in others)
            label = f"{label} {SCORES[name]}".strip() if len(names) > 1 else label
            lines.setdefault(label, {})[row.point[field]] = row.found[name]
    draw_lines(lines, out, x=field, y="mean return ± 2 σ", title=title)


def draw_lines(
    lines: Mapping[str, Mapping[str, tuple[float, float]]],
    out: Path,
    *,
    x: str,
    y: str,
    title: str = "",
) -> None:
    """Lines by their labels: the value of a field, as text -> a score, and how far it spreads."""
    values = list(dict.fromkeys(value for line in lines.values() for value in line))
    numbers = [as_number(value) for value in values]
    numeric = all(map(math.isfinite, numbers))
    places = dict(zip(values, numbers if numeric else range(len(values)), strict=True))
    with picture(out, x=x, y=y) as axes:
        axes.set_title(title)
        for label, line in lines.items():
            at, scores, spreads = zip(*sorted((places[v], *line[v]) for v in line), strict=True)
            style = "--" if label.startswith("theirs") else "-"
            axes.errorbar(at, scores, spreads, label=label or None, fmt=f"o{style}", capsize=3)
        if not numeric:
            axes.set_xticks(range(len(values)), [value.replace(" ", "\n") for value in values])
        elif min(numbers) > 0.0 and max(numbers) / min(numbers) >= WIDE:
            axes.set_xscale("log")


def as_number(text: str) -> float:
    """nan of what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
