"""The page of docs/results on the published works: each statement of theirs, where it is here, and
our figures beside theirs.

pages/published.yaml holds the statements and says which stored figures belong to them.
"""

from collections.abc import Mapping
from functools import cache
from statistics import fmean
from typing import Any

from lab.studies.procgen_pages import texts
from lab.studies.report import as_runs, document
from retro_agents.ground import statistics
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT, read_result
from retro_agents.judging.tables import number, records

VERDICTS = ("works", "in part", "missing", "cannot be run here")
COLUMNS = 8
"""Columns of a work's table, which all hold text."""
STEPS = ("50,000 steps", "200,000 steps", "1,000,000 steps")
BESIDE = ("text", "in", "take")
"""Fields of a figure; all others are values by which its rows are found."""


def published_page() -> str:
    """A table for each work, after one of how many statements have which verdict."""
    page = texts("published")
    counts = [count_row(work["title"], work["statements"]) for work in page["works"]]
    counts.append(count_row("all", statements()))
    parts, first = [page["about"], records(counts)], 1
    for work in page["works"]:
        rows = [statement_row(n, one) for n, one in enumerate(work["statements"], first)]
        parts += [f"## {work['title']}", f"Source: {work['source']}."]
        if "scores" in work:
            parts += [records([*map(score_row, work["scores"]["rows"])]), work["scores"]["about"]]
        parts.append(records(rows, left=COLUMNS))
        first += len(rows)
    return document("What was published", "lab/studies/pages/published.yaml", *parts)


def statements() -> list[Mapping[str, Any]]:
    """All statements, in their order."""
    return [one for work in texts("published")["works"] for one in work["statements"]]


def count_row(title: str, among: list[Mapping[str, Any]]) -> dict[str, str]:
    """How many of these statements have which verdict."""
    verdicts = [one["verdict"] for one in among]
    counts = {name: str(verdicts.count(name)) for name in VERDICTS}
    return {"": title, "statements": str(len(among)), **counts}


def statement_row(n: int, one: Mapping[str, Any]) -> dict[str, str]:
    """The row of one statement; missing parts are empty."""
    cells = {
        "": str(n),
        "statement": one["says"],
        "here": ", ".join(map(place, one.get("where", ()))),
        "command": f"`{one['run']}`" if "run" in one else "",
        "ours": ", ".join(f"{of['text']} {number(figure(of))}" for of in one.get("ours", ())),
        "theirs": one.get("theirs", ""),
        "verdict": one["verdict"],
        "note": one.get("note", ""),
    }
    return {name: text.replace("|", r"\|") for name, text in cells.items()}


def score_row(one: Mapping[str, Any]) -> dict[str, str]:
    """An agent's published score beside ours after so many steps on each level, with the number of
    seeds."""
    cells = {"": one["agent"], "published": one.get("theirs", ""), **dict.fromkeys(STEPS, "")}
    for steps, (name, kind) in one["ours"].items():
        mean, seeds = (
            figure({"in": name, "kind": kind, "take": take}) for take in ("mean return", "seeds")
        )
        cells[steps] = f"{number(mean)} ({seeds:.0f})"
    return cells


def place(where: str) -> str:
    """A file as a link; a flag or a preset of an agent as code."""
    return f"`{where}`" if " " in where else f"[{where}](../../{where})"


def figure(of: Mapping[str, Any]) -> float:
    """A stored figure: the mean of what `take` names in the rows that have the other values. Raises
    UserError if none has."""
    wanted = {name: value for name, value in of.items() if name not in BESIDE}
    found = [
        taken(row, of["take"])
        for row in rows_of(of["in"])
        if all(row.get(name) == value for name, value in wanted.items())
    ]
    if not found:
        raise UserError(f"{of['in']} has no row with {wanted}: measure it, or mend published.yaml")
    return fmean(found)


def taken(row: Mapping[str, Any], path: str) -> float:
    """The number at a dotted path; the mean of a list."""
    value: Any = row
    for name in path.split("."):
        value = value[name]
    return fmean(value) if isinstance(value, list) else float(value)


@cache
def rows_of(name: str) -> list[Mapping[str, Any]]:
    """The rows of stored results; of a study, the name, mean return and number of seeds of each
    kind. name: of lab/studies/results, or a path; several with spaces between."""
    found: list[Mapping[str, Any]] = []
    for one in name.split():
        path = one if one.endswith(".json") else f"lab/studies/results/{one}.json"
        result = read_result(ROOT / path)
        if "rows" in result:
            found += result["rows"]
            continue
        for kind, own in result["kinds"].items():
            mean = statistics.mean(as_runs(own["runs"]))
            seeds = max(map(len, own["runs"].values()))
            found.append({"kind": kind, "mean return": mean, "seeds": seeds})
    return found
