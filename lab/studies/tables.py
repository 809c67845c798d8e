"""Writes docs/results: every table that the stored results give, and nothing else.

lab/benchmarks/results, retro_agents/contest/results and lab/studies/results hold JSON with their
command, commit and
machine; retro_agents/games/retro/data/references.csv what reference players reach.
"""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from lab.studies.procgen_pages import course_page, entry_page
from lab.studies.report import MARK, OUT, as_runs, origin, page
from retro_agents.games.retro.bramble import GAME, REFERENCES
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.ground import statistics
from retro_agents.ground.files import write_text
from retro_agents.ground.results import ROOT, read_result
from retro_agents.ground.statistics import Runs
from retro_agents.judging.tables import number, records, span, table
from retro_agents.sweeps.study import level_names, short

NOTES = """\
A run's score is the mean return of all its episodes, 10,000 at most. Every level counts alike.
*95 % over seeds* is Student's t interval of the seeds' means over levels; of a difference, Welch's.
The *interquartile mean* leaves out the lowest and the highest quarter of all runs, each rounded
down. *Above N* is the part of runs that scored more. The *probability of improvement* is that of a
run of the first beating one of the second on the same level. Their intervals are bootstraps over
seeds within each level: of three seeds they hold the truth less often than 95 %, about 88 % on 11
levels and 76 % on one. *Shuffled* is the mean return by the pictures of other moments, *blind* by
independent draws of its own action frequencies: a player *sees* where its own pictures surely earn
more than both. *CPU min* is the mean of one run. What begins from one pretraining does not say how
pretrainings differ. Empty cells are unknown."""
FORMER = """\
**Another policy**: where a kind begins with `ppo2/pretrained` or plays it, it is the one shipped
until 2026-11-25."""
WITH_FORMER = ("contest", "jerk-fresh", "es")
"""Pages of results that it is part of."""
SECOND = """\
**Another cartridge**: played in an earlier version of BrambleDash, whose acts were others than
those of the ROM that is here. To be made anew."""


def write() -> None:
    """Bring docs/results up to date. UserError: a stored result cannot be read."""
    for name, text in pages().items():
        write_text(OUT / name, text)


def pages() -> dict[str, str]:
    """File name -> text."""
    own = {
        "contest.md": contest_page(),
        "speed.md": speed_page(),
        "references.md": references_page(),
        "course.md": course_page(),
        "entry.md": entry_page(),
    }
    results = results_in("lab/studies")
    return own | {f"{name}.md": study_page(name, result) for name, result in results.items()}


def study_page(name: str, result: Mapping[str, Any]) -> str:
    """Of one study."""
    source = MARK.format(f"`lab/studies/results/{name}.json`")
    origins: dict[str, list[str]] = {}
    for kind, own in result["kinds"].items():
        if "origin" in own:
            origins.setdefault(origin(own["origin"]), []).append(kind)
    parts = [f"# Study: {name}", source, origin(result)]
    parts += [f"From before, {', '.join(kinds)}: {text}" for text, kinds in origins.items()]
    parts += [*notes(name, [result]), NOTES, page(result)]
    return "\n\n".join(parts) + "\n"


def notes(name: str, results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Notes where results are of another ROM of BrambleDash than the one that is here, or of other
    weights than those that are shipped."""
    played = re.findall(rf'"{GAME}": "(\w+)"', json.dumps(results))
    other = [SECOND] if set(played) - {rom_hash(GAME)} else []
    return other + [FORMER] * (name in WITH_FORMER)


def speed_page() -> str:
    """Of all benchmarks, a section each."""
    cases = "What each case times: [cases](../../lab/benchmarks/cases.md)."
    parts = ["# Speed", MARK.format("`lab/benchmarks/results`"), cases]
    for name, result in results_in("lab/benchmarks").items():
        parts += [f"## {name}", origin(result), *row_tables(result["rows"])]
    return "\n\n".join(parts) + "\n"


def results_in(folder: str) -> dict[str, dict[str, Any]]:
    """The stored results of a folder, by the names of their files."""
    paths = sorted((ROOT / folder / "results").glob("*.json"))
    return {path.stem: read_result(path) for path in paths}


def row_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table for all rows that begin with the same word; a part of many numbers by itself."""
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
"""Columns from which on a single row is shown as a column."""


def title(name: str) -> str:
    """Of a column."""
    return AIMS.get(name, name).replace("_", " ")


def value(content: Any) -> str:
    """A number, some numbers or a text."""
    if isinstance(content, list):
        return ", ".join(map(value, content))
    return content if isinstance(content, str) else number(content)


def contest_page() -> str:
    """All contests in retro_agents/contest/results: overall, and level by level."""
    results = results_in("retro_agents/contest")
    found: dict[str, Runs] = {
        name: as_runs({row["level"]: row["by_seed"] for row in result["levels"]})
        for name, result in results.items()
    }
    runs = dict(sorted(found.items(), key=lambda item: statistics.mean(item[1])))
    rows = [contest_row(name, results[name], own) for name, own in runs.items()]
    by_level = [
        {
            "mean over seeds": short(level),
            **{name: number(fmean(own[level].values())) for name, own in runs.items()},
        }
        for level in next(iter(runs.values()))
    ]
    parts = ["# Contest", MARK.format("`retro_agents/contest/results`")]
    parts += [*notes("contest", list(results.values())), NOTES, records(rows), records(by_level)]
    return "\n\n".join(parts) + "\n"


def contest_row(name: str, result: Mapping[str, Any], runs: Runs) -> dict[str, str]:
    """Of one contest."""
    agent, overall = result["agent"], result["overall"]
    zones = {zone(level) for level in level_names("bramble-train")}
    seen, unseen = (
        statistics.mean({k: v for k, v in runs.items() if (zone(k) in zones) == there})
        for there in (True, False)
    )
    return {
        "": name,
        "agent": player(agent),
        "steps on each level": number(agent["timesteps"]),
        "seeds": number(len(overall["by_seed"])),
        "mean return": number(statistics.mean(runs)),
        "95 % over seeds": span(statistics.t_interval(statistics.seed_means(runs))),
        "interquartile mean": number(statistics.interquartile_mean(runs)),
        "levels of seen zones": number(seen),
        "of unseen zones": number(unseen),
        **{count: number(overall[count]) for count in ("best", "episodes", "finished")},
    }


def zone(level: str) -> str:
    """GAME:ZONE.ACT -> ZONE."""
    return short(level).partition(".")[0]


def player(agent: Mapping[str, Any]) -> str:
    """Who played, and how."""
    words = [agent["name"], agent["mode"] or "", *agent["flags"]]
    if agent["checkpoint"]:
        words.append(f"from {agent['checkpoint'].partition('/checkpoints')[0]}")
    return " ".join(filter(None, words))


def references_page() -> str:
    """What the cartridge's reference players reach, over levels that count alike."""
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
    source = MARK.format("`retro_agents/games/retro/data/references.csv`")
    return "\n\n".join(["# Reference players", source, records(body)]) + "\n"
