"""Pages of docs/results on Procgen: published numbers of a course and a competition, beside ours.

pages/NAME.yaml holds the published numbers and a page's texts, results/NAME our measurements.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import yaml

from lab.studies.report import OUT, document, origin, results_in
from retro_agents.ground import statistics
from retro_agents.judging.tables import decimal, number, records, with_interval

HERE = Path(__file__).parent
KNOWN_BY = ("method", "encoder", "hidden", "num_levels")
"""Fields that distinguish rows of the course's table, and by which published rows are found."""
GROUPED_BY = (*KNOWN_BY, "timesteps")
Row = Mapping[str, Any]


@cache
def texts(name: str) -> dict[str, Any]:
    """A page's texts; for a published study: source, about, differs, and its numbers."""
    text = (HERE / "pages" / f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def page(name: str, title: str, *parts: str) -> str:
    """A page of these parts, between its introduction and the source of the published numbers."""
    about, differs, source = (texts(name)[part] for part in ("about", "differs", "source"))
    folder = f"lab/studies/results/{name}"
    return document(title, folder, about, *parts, differs, f"Theirs: {source}.")


def theirs_of(row: Row) -> dict[str, Any] | None:
    """The course's result for such a run: the similar one with the closest number of steps."""
    rows = [r for r in texts("course")["theirs"] if all(r[n] == row[n] for n in KNOWN_BY)]
    return min(rows, key=lambda r: abs(r["timesteps"] - row["timesteps"]), default=None)


def by_number(value: Any) -> tuple[str, list[float]]:
    """Sorts "penalty 2" before "penalty 10"."""
    digits, text = r"\d+(?:\.\d+)?", str(value)
    return re.sub(digits, "", text), [float(found) for found in re.findall(digits, text)]


def grouped(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows grouped by the values of these fields, in the order of the fields."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: [by_number(row[name]) for name in names]):
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def rows_of(results: Mapping[str, Any], name: str = "") -> list[Row]:
    """The runs of all results whose names begin so. One that two of them share counts once."""
    rows = (row for key in results if key.startswith(name) for row in results[key]["rows"])
    return list({tuple(row[n] for n in (*GROUPED_BY, "seed")): row for row in rows}.values())


def course_page() -> str:
    """The course's numbers beside ours, method by method."""
    results = results_in("lab/studies/results/course")
    runs = rows_of(results)
    rows = [course_row(alike) for alike in grouped(runs, GROUPED_BY).values()]
    drawn = [f"![Returns, and theirs]({p.name})" for p in sorted(OUT.glob("course-*.png"))]
    commands = map(origin, results.values())
    return page("course", "The course", *commands, records(rows), *slopes(runs), *drawn)


def course_row(rows: Sequence[Row]) -> dict[str, str]:
    """Runs that differ only in their seeds: settings, results, and the published results."""
    first, theirs = rows[0], theirs_of(rows[0]) or {}

    def ends(name: str, unit: str) -> list[float]:
        return [float(np.mean(row[name][unit])) for row in rows]

    train, test = ends("train", "raw"), ends("test", "raw")
    return {
        **{name: first[name] for name in ("method", "encoder")},
        "units": number(first["hidden"]),
        "levels": number(first["num_levels"]),
        "steps": number(first["timesteps"]),
        "seeds": str(len(rows)),
        "train": with_interval(train),
        "test": with_interval(test),
        "train − test": with_interval(np.subtract(train, test).tolist()),
        **{f"{n}, normalised": decimal(fmean(ends(n, "normalised")), 3) for n in ("train", "test")},
        **{f"ours in it: {n}": decimal(fmean(ends(n, "course")), 1) for n in ("train", "test")},
        "theirs: steps": number(theirs.get("timesteps")),
        **{f"theirs: {name}": str(theirs.get(name, "")) for name in ("train", "test")},
    }


def slopes(runs: Sequence[Row]) -> list[str]:
    """How train − test changes with the number of levels, for runs on three or more numbers."""
    lines = []
    limited = [run for run in runs if run["num_levels"]]
    for known, rows in grouped(limited, [n for n in GROUPED_BY if n != "num_levels"]).items():
        if len({row["num_levels"] for row in rows}) < 3:
            continue
        tens = np.log10([row["num_levels"] for row in rows])
        gaps = [np.mean(row["train"]["raw"]) - np.mean(row["test"]["raw"]) for row in rows]
        slope, (low, high) = statistics.slope_interval(tens, gaps)
        who = "{}, {}, {} units, {:,} steps".format(*known)
        text = f"{decimal(slope, 2)} ({decimal(low, 2)} to {decimal(high, 2)})"
        what = f"train − test changes by {text} with each tenfold number of levels"
        lines.append(f"**{who}**: {what}, by the line through {len(rows)} runs, 95 % in brackets.")
    return [*lines, "A line is not the shape of the fall: see the table."] if lines else []


def entry_page() -> str:
    """The results of each file in results/entry, beside the entry's own numbers."""
    parts = []
    for name, result in results_in("lab/studies/results/entry").items():
        rows = [entry_row(row, texts("entry")["theirs"][name]) for row in result["rows"]]
        parts += [f"## {name.capitalize()}", origin(result), records(rows)]
    return page("entry", "The competition's entry", *parts)


def entry_row(row: Row, theirs: Mapping[str, Any]) -> dict[str, str]:
    """The row of one run on one game; missing values are empty."""

    def of(name: str, *, text: str = "{}") -> str:
        return text.format(decimal(row[name], 2)) if row.get(name) is not None else ""

    ends = " ({} – {})".format(*(decimal(end, 2) for end in row.get("interval") or (0.0, 0.0)))
    return {
        "": row["label"],
        "game": row["game"],
        "seed": number(row.get("seed")),
        "steps": number(row.get("env_steps")),
        "while it learned": of("learning") + of("learning_error", text=" ± {}"),
        "frozen": of("frozen", text="{}" + ends),
        "episodes": number(row.get("episodes")),
        "shuffled": of("shuffled"),
        "blind": of("blind"),
        f"theirs after {theirs['steps']:,}":
            str(theirs["rows"].get(row["label"], {}).get(row["game"], "")),
    }  # fmt: skip
