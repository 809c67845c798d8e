"""Writes docs/results: all tables of the stored results, and nothing else.

lab/benchmarks/results, retro_agents/contest/results and lab/studies/results hold JSON with command,
commit and machine; retro_agents/games/retro/data/references.csv holds the reference players'
results.
"""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import yaml

from lab.studies.procgen_pages import HERE, course_page, entry_page, texts
from lab.studies.published import published_page
from lab.studies.report import (
    OUT,
    as_runs,
    document,
    level_table,
    origin,
    page,
    results_in,
    seeds_span,
)
from retro_agents.games.retro.bramble import GAME, REFERENCES
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.ground import statistics
from retro_agents.ground.files import write_text
from retro_agents.ground.results import ROOT
from retro_agents.ground.statistics import Runs
from retro_agents.judging.tables import number, records, table
from retro_agents.sweeps.study import level_names, read_study, short

NOTES = texts("notes")
READING = "[How to read the tables](README.md#how-to-read-the-tables)."
WITH_FORMER = ("contest", "jerk-fresh")
"""Pages to which the note `former` applies: some of their results are of an older policy."""


def write() -> None:
    """Update docs/results. Raises UserError if a stored result cannot be read."""
    for name, text in pages().items():
        write_text(OUT / name, text)


def pages() -> dict[str, str]:
    """File name -> text."""
    own = {"contest": contest_page(), "speed": speed_page(), "references": references_page()}
    own |= {"course": course_page(), "entry": entry_page(), "published": published_page()}
    studies = results_in("lab/studies/results")
    own |= {name: study_page(name, result) for name, result in studies.items()}
    return {f"{name}.md": text for name, text in own.items()}


def study_page(name: str, result: Mapping[str, Any]) -> str:
    """The page of one study."""
    origins: dict[str, list[str]] = {}
    for kind, own in result["kinds"].items():
        if "origin" in own:
            origins.setdefault(origin(own["origin"]), []).append(kind)
    before = [f"From before, {', '.join(kinds)}: {text}" for text, kinds in origins.items()]
    parts = [read_study(name, HERE).about, *notes(name, [result]), READING, page(result)]
    parts += ["## Commands", origin(result), *before]
    return document(f"Study: {name}", f"lab/studies/results/{name}.json", *parts)


def notes(name: str, results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Notes on results from another ROM of BrambleDash than the one here, or from other weights
    than the shipped ones."""
    played = re.findall(rf'"{GAME}": "(\w+)"', json.dumps(results))
    other = [NOTES["second"]] if set(played) - {rom_hash(GAME)} else []
    return other + [NOTES["former"]] * (name in WITH_FORMER)


def speed_page() -> str:
    """The page of all benchmarks: a summary, and a section each."""
    results = results_in("lab/benchmarks/results")
    parts = ["What each case times: [cases](../contribute/benchmarks.md#what-the-benchmarks-time)."]
    parts += ["## Summary", records(summary(results))]
    for name, result in results.items():
        parts += [f"## {name}", origin(result), *row_tables(result["rows"])]
    return document("Speed", "lab/benchmarks/results", *parts)


def summary(results: Mapping[str, Any]) -> list[dict[str, str]]:
    """The rows that lab/benchmarks/summary.yaml names, with their aims."""
    found: dict[str, tuple[Any, Mapping[str, Any]]] = {}
    for name, result in results.items():
        for row in result["rows"]:
            own = f"{name}/{next(iter(row.values()))}"
            found |= {f"{own} {metric}": (content, row) for metric, content in row.items()}
            found[own] = row.get("value"), row
    named = yaml.safe_load((ROOT / "lab/benchmarks/summary.yaml").read_text(encoding="utf-8"))
    rows = [(text, *found[key]) for key, text in named.items()]
    return [{"": text, "measured": number(of), "aim": aim(row)} for text, of, row in rows]


def aim(row: Mapping[str, Any]) -> str:
    """What a row's value was to reach; "" if nothing."""
    signs = {"at_most": "≤", "at_least": "≥", "aim": "≥"}
    return " ".join(f"{signs[name]} {number(row[name])}" for name in row if name in signs)


def row_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One table for all rows that begin with the same word; a long row gets its own table."""
    tables: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        first, *others = row
        metrics = [] if first in ("ratio", "limit") else [n for n in others if n not in AIMS]
        tables.setdefault((first, *metrics), []).append(row)
    found = []
    for same in tables.values():
        cells = [{title(name): value(part) for name, part in row.items()} for row in same]
        if len(cells) == 1 and len(cells[0]) > WIDE:
            head, *body = cells[0].items()
            found.append(table(head, body))
        else:
            found.append(records(cells))
    return found


AIMS = {"at_least": "aim: at least", "at_most": "aim: at most", "aim": "aim: at least"}
WIDE = 8
"""Number of columns from which a single row is shown as a column."""


def title(name: str) -> str:
    """A column's title."""
    return AIMS.get(name, name).replace("_", " ")


def value(content: Any) -> str:
    """A number, some numbers or a text."""
    if isinstance(content, list):
        return ", ".join(map(value, content))
    return content if isinstance(content, str) else number(content)


def contest_page() -> str:
    """All contests in retro_agents/contest/results: overall, and level by level."""
    results = results_in("retro_agents/contest/results")
    kinds: Any = {
        name: {"runs": {short(row["level"]): row["by_seed"] for row in result["levels"]}}
        for name, result in results.items()
    }
    kinds = dict(sorted(kinds.items(), key=lambda kind: statistics.mean(as_runs(kind[1]["runs"]))))
    rows = [contest_row(name, results[name], as_runs(own["runs"])) for name, own in kinds.items()]
    parts = [*notes("contest", [*results.values()]), READING, records(rows), level_table(kinds)]
    return document("Contest", "retro_agents/contest/results", *parts)


def contest_row(name: str, result: Mapping[str, Any], runs: Runs) -> dict[str, str]:
    """The row of one contest."""
    agent, overall = result["agent"], result["overall"]
    zones = {short(level).partition(".")[0] for level in level_names("bramble-train")}
    seen, unseen = (
        statistics.mean({k: v for k, v in runs.items() if (k.partition(".")[0] in zones) == there})
        for there in (True, False)
    )
    return {
        "": name,
        "agent": player(agent),
        "steps on each level": number(agent["timesteps"]),
        "seeds": number(len(overall["by_seed"])),
        "mean return": number(statistics.mean(runs)),
        "95 % over seeds": seeds_span(runs),
        "interquartile mean": number(statistics.interquartile_mean(runs)),
        "levels of seen zones": number(seen),
        "of unseen zones": number(unseen),
        **{count: number(overall[count]) for count in ("best", "episodes", "finished")},
    }


def player(agent: Mapping[str, Any]) -> str:
    """A description of the player."""
    words = [agent["name"], agent["mode"] or "", *agent["flags"]]
    if agent["checkpoint"]:
        words.append(f"from {agent['checkpoint'].partition('/checkpoints')[0]}")
    return " ".join(filter(None, words))


def references_page() -> str:
    """The reference players' results, with equal weight for all levels."""
    with REFERENCES.open(encoding="utf-8") as file:
        players: dict[str, list[dict[str, str]]] = {}
        for row in csv.DictReader(file):
            players.setdefault(row["agent"], []).append(row)
    held_out = {short(name) for name in level_names("bramble-test")}
    body = []
    for agent, rows in players.items():
        cells = {"player": agent, "episodes on each level": rows[0]["episodes"]}
        there = [row for row in rows if row["level"] in held_out]
        for name, here in (("held-out levels", there), ("all levels", rows)):
            ended, episodes = (sum(int(row[k]) for row in here) for k in ("finished", "episodes"))
            mean = round(fmean(float(row["mean_return"]) for row in here))
            cells |= {f"mean return, {name}": number(mean)}
            cells |= {f"finished, {name}": f"{ended:,} of {episodes:,}"}
        body.append(cells)
    source = "retro_agents/games/retro/data/references.csv"
    return document("Reference players", source, records(body))
