"""A grid as a study with one kind per combination: its cells run and resume as a study's."""

import dataclasses
import itertools
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from retro_agents.games.families import check_levels, levels_with
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_text
from retro_agents.ground.names import nearest_text
from retro_agents.ground.results import read_result, store
from retro_agents.judging.tables import NOTHING, number, records
from retro_agents.run.agents import find_given
from retro_agents.run.command_line import load_config
from retro_agents.run.config import flat, to_dict
from retro_agents.run.fields import fields, flag_of, flag_with
from retro_agents.run.metrics import rows_of
from retro_agents.run.plot import picture
from retro_agents.run.settings import RunSettings
from retro_agents.sweeps.config import SweepConfig, fixed_of
from retro_agents.sweeps.launcher import LAST, last_rows, record_of
from retro_agents.sweeps.study import Kind, Study, shell_words

RETURNS = {"return": "return", "train_return": "train levels", "test_return": "test levels"}
"""Returns in a run's record of its end, if known -> their names in tables."""
SCORES = {
    **RETURNS,
    "train_normalised_paper": "train levels, normalised",
    "test_normalised_paper": "test levels, normalised",
}
"""The same, and Procgen's normalised returns."""
WIDE = 20.0
"""An axis is logarithmic if its largest value is at least so many times the smallest."""
WIDEST = 48
"""Most characters of the levels in a plot's title, and of values that are not tilted."""
LONGEST = 240
"""Most characters of a point's name, which is a folder's."""
Point = dict[str, str]
"""Field -> value, as text."""


class Scores(NamedTuple):
    """A point, its number of complete seeds, and score -> (mean, two standard deviations: over
    seeds, or for one seed over the metrics' rows that were averaged; nan for one row)."""

    point: Point
    seeds: int
    found: dict[str, tuple[float, float]]


def points(words: Sequence[str]) -> list[Point]:
    """All combinations of the values in words FIELD=A,B or FIELD=A;B; the last field changes
    fastest. Raises UserError if a word has another form."""
    grid: dict[str, list[str]] = {}
    for word in words:
        field, text = field_of(word), word.partition("=")[2]
        values = [value.strip() for value in text.split(";" if ";" in text else ",")]
        bad = [value for value in values if not value or "/" in value or len(value.split()) > 1]
        if not field or bad or field in grid or len(set(values)) < len(values):
            raise UserError(
                f"--grid {word!r}: expected FIELD=A,B,C, each field and value once, no spaces or "
                "slashes; separate values that contain commas by ;: widths=16,32,32;32,64,64"
            )
        grid[field] = values
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def field_of(word: str) -> str:
    """The field that a flag, or a word FIELD=…, names."""
    return word.lstrip("-").partition("=")[0].replace("-", "_")


def words_of(point: Mapping[str, str], known: Mapping[str, Any]) -> list[str]:
    """A point as flags. known: the agent's config, flat, which shows which fields are switches.

    Raises UserError if the agent has no such field, or if the sweep itself sets it."""
    words = []
    for name, value in point.items():
        if name in fields(RunSettings, "launch"):
            raise UserError(f"{name}: the sweep itself sets that for each run")
        if name not in known:
            here = f"{known['levels']} has no field {name!r}" if "levels" in known else ""
            if here and (others := levels_with(name)):
                raise UserError(f"{here}, which others have: give --levels such as {others[0]}")
            raise UserError(f"the agent has no field {name!r}; {nearest_text(name, known)}")
        if isinstance(known[name], bool) and value.lower() in ("true", "false"):
            words.append(flag_with(name, value.lower() == "true"))
        else:
            words.append(f"{flag_of(name)}={value}")
    return words


def further(config: SweepConfig) -> list[str]:
    """The words of --flags. Raises UserError if the sweep itself sets one of them for each run."""
    words = shell_words(config.flags)
    given = {*fields(RunSettings, "launch"), "preset", "config"}
    given |= {name for name in ("levels", "timesteps") if getattr(config, name)}
    given |= {"checkpoint_every"} if config.pbt else set()
    given |= {field_of(word) for word in (*config.grid, *config.pbt, *config.search)}
    for word in words:
        if word.startswith("--") and {field_of(word), field_of(word).removeprefix("no_")} & given:
            raise UserError(f"--flags {word}: the sweep itself sets that for each run")
    return words


def agent_config(config: SweepConfig, words: Sequence[str] = ()) -> Any:
    """The agent's config that all runs share, with further words. Raises UserError."""
    package = find_given(config.agent)
    everyone = ["--preset", config.preset] if config.preset else []
    everyone += ["--levels", config.levels] if config.levels else []
    everyone += ["--timesteps", str(config.timesteps)] if config.timesteps else []
    said = [*everyone, *further(config), *words]
    return load_config(package.Config, said, presets=package.PRESETS, command="")


def kind_of(config: SweepConfig, words: Sequence[str], run: RunSettings, **more: Any) -> Kind:
    """The run of these words as a kind of a study. run: its settings. more: of the kind."""
    first = ["--preset", config.preset] if config.preset else []
    return Kind(
        run=f"{config.agent}.train",
        flags=shlex.join((*first, *further(config), *words)),
        levels=run.levels,
        steps=run.timesteps,
        together=True,
        **more,
    )


def study_of(config: SweepConfig) -> tuple[Study, dict[str, Point]]:
    """The grid's study, and the point of each of its kinds.

    Raises UserError if a point does not fit the agent, its levels or its net; so nothing runs until
    all points are checked."""
    package = find_given(config.agent)
    # Without --flags, which may be valid only together with each point.
    values = flat(to_dict(agent_config(dataclasses.replace(config, flags=""))))
    kinds, named, known = dict[str, Kind](), dict[str, Point](), dict[str, Any]()
    for point in points(config.grid):
        words = words_of(point, values)
        found = agent_config(config, words)
        check_levels(found.run.levels, found.env)
        package.build(to_dict(found))
        name = ",".join(f"{field}={value}" for field, value in point.items())
        if len(name) > LONGEST:
            raise UserError(
                f"--grid: a run's folder would be named {name[:40]}…, which is too long: give "
                "fewer fields, or levels as CSV files: levels=a.csv,b.csv"
            )
        for other, same in known.items():
            if found == same:
                raise UserError(f"--grid: {name} is {other} a second time")
        known[name], named[name] = found, point
        kinds[name] = kind_of(config, words, found.run, last=tuple(SCORES))
    return Study(seeds=config.seeds, kinds=kinds, keep=True), named


def described(config: SweepConfig, study: Study) -> str:
    """What a grid's runs are, in a few words: agent, preset, steps and levels."""
    steps = sorted({kind.steps for kind in study.kinds.values()})
    levels = {kind.levels for kind in study.kinds.values()}
    many = " to ".join(f"{count:,}" for count in dict.fromkeys((steps[0], steps[-1])))
    where = f"one of {len(levels)} sets of levels" if len(levels) > 1 else levels.pop()
    where = where if len(where) <= WIDEST else f"{where[:WIDEST]}…"
    return f"{f'{config.agent} {config.preset}'.strip()}, {many} steps each on {where}"


def collect(study: Study, named: Mapping[str, Point], out: Path) -> list[Scores]:
    """The points with at least one complete run."""
    result = []
    for name, point in named.items():
        complete = {c: r for c in study.cells(name) if (r := record_of(study, c, out))}
        ends = [record.get("last", {}) for record in complete.values()]
        alone = row_spreads(out / next(iter(complete)).name) if len(complete) == 1 else {}
        found = {
            score: (fmean(values), alone.get(score, two_sigma(values)))
            for score in SCORES
            if (values := [end[score] for end in ends if score in end])
        }
        if complete:
            result.append(Scores(point, len(complete), found))
    return result


def with_earlier(config: SweepConfig, rows: Sequence[Scores]) -> list[Scores]:
    """The rows, and those in --out of an earlier command that differed only in these fields'
    values, or in the number of seeds."""
    path = config.out / "result.json"
    before = read_result(path) if path.exists() else {}
    said, names = before.get("sweep", {}), points(config.grid)[0].keys()
    same = all(said.get(name) == value for name, value in fixed_of(config).items())
    found = dict[frozenset[tuple[str, str]], Scores]()
    for row in before.get("points", []) if same else []:
        if row["point"].keys() == names:
            ends = {
                name: (mean, math.nan if spread is None else spread)
                for name, (mean, spread) in row["found"].items()
            }
            found[frozenset(row["point"].items())] = Scores(row["point"], row["seeds"], ends)
    return list((found | {frozenset(row.point.items()): row for row in rows}).values())


def two_sigma(values: Sequence[float]) -> float:
    """Two standard deviations; nan for a single value."""
    return 2.0 * stdev(values) if len(values) > 1 else math.nan


def row_spreads(folder: Path) -> dict[str, float]:
    """Score -> two standard deviations over the rows of a run's metrics in its last tenth; {} if
    the run's folder is gone."""
    columns = {"mean_return": "return"} | {score: score for score in SCORES}  # ES has "return"
    path = folder / "metrics.csv"
    rows = last_rows(rows_of(path), list(columns)) if path.is_file() else {}
    return {columns[name]: two_sigma(values.tolist()) for name, values in rows.items()}


def markdown(rows: Sequence[Scores]) -> str:
    """One table, with a row per point."""
    if not rows:
        return NOTHING

    def cell(row: Scores, name: str) -> str:
        mean, spread = row.found.get(name, (math.nan, math.nan))
        return number(mean) if math.isnan(spread) else f"{number(mean)} ± {number(spread)}"

    lines = [
        {**row.point, "seeds": str(row.seeds)}
        | {f"{called} ± 2 σ": cell(row, name) for name, called in SCORES.items()}
        for row in rows
    ]
    own, single = "over the rows of a run's metrics there", [row.seeds == 1 for row in rows]
    note = f"their deviation over seeds{f'; for one seed, {own}' if any(single) else ''}"
    note = f"the deviation {own}, because there is one seed" if all(single) else note
    return f"{records(lines)}\n\nMeans over the last {LAST:.0%} of each run's steps; σ: {note}."


def draw(rows: Sequence[Scores], out: Path, *, title: str) -> None:
    """The score over the first field, with two standard deviations; one line for each combination
    of the other fields and each kind of score, or points if the field's values are no numbers."""
    field, *others = rows[0].point
    values = list(dict.fromkeys(row.point[field] for row in rows))
    numbers = [as_number(value) for value in values]
    numeric = all(map(math.isfinite, numbers))
    places = dict(zip(values, numbers if numeric else range(len(values)), strict=True))
    lines: dict[str, list[tuple[float, float, float]]] = {}
    names = [name for name in RETURNS if any(name in row.found for row in rows)]
    names = [name for name in names if name != "return"] or names
    for row, name in itertools.product(rows, names):
        if name in row.found:
            label = " ".join(f"{other}={row.point[other]}" for other in others)
            label = f"{label} {SCORES[name]}".strip() if len(names) > 1 else label
            lines.setdefault(label, []).append((places[row.point[field]], *row.found[name]))
    with picture(out, x=field, y="mean return ± 2 σ") as axes:
        axes.set_title(title)
        for label, line in lines.items():
            x, y, spread = zip(*sorted(line), strict=True)
            style = "-" if numeric else ""
            axes.errorbar(x, y, spread, linestyle=style, label=label or None, marker="o", capsize=3)
        if not numeric:
            tilted = {"rotation": 30, "ha": "right"} if sum(map(len, values)) > WIDEST else {}
            axes.set_xticks(range(len(values)), values, **tilted)
        elif min(numbers) > 0.0 and max(numbers) / min(numbers) >= WIDE:
            axes.set_xscale("log")


def publish(config: SweepConfig, text: str, **result: Any) -> None:
    """Write result.json and table.md to the sweep's folder, and print the table."""
    store(config.out / "result.json", {"sweep": to_dict(config), **result})
    write_text(config.out / "table.md", text + "\n")
    print(text)


def as_number(text: str) -> float:
    """The text as a finite number; nan if it is none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
