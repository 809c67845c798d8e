"""Writes docs/results: every table that the stored results give, and nothing else.

lab/benchmarks/results, retro_agents/contest/results and lab/studies/results hold JSON with their
command, commit and
machine; retro_agents/games/retro/data/references.csv what reference players reach.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lab.studies.procgen_pages import course_page, entry_page
from lab.studies.report import MARK, OUT, as_runs, mean_of, origin, page, span
from retro_agents.games.retro.bramble import GAME, REFERENCES
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.ground import statistics
from retro_agents.ground.files import write_text
from retro_agents.ground.results import ROOT, read_result
from retro_agents.ground.statistics import Runs
from retro_agents.judging.tables import number, table
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
    paths = sorted((ROOT / "lab" / "studies" / "results").glob("*.json"))
    own = {
        "contest.md": contest_page(),
        "speed.md": speed_page(),
        "references.md": references_page(),
        "course.md": course_page(),
        "entry.md": entry_page(),
    }
    return own | {f"{path.stem}.md": study_page(path.stem, read_result(path)) for path in paths}


def study_page(name: str, result: Mapping[str, Any]) -> str:
    """Of one study."""
    source = MARK.format(f"`lab/studies/results/{name}.json`")
    origins: dict[str, list[str]] = {}
    for kind, own in result["kinds"].items():
        if "origin" in own:
            origins.setdefault(origin(own["origin"]), []).append(kind)
    parts = [f"# Study: {name}", source, origin(result)]
    parts += [f"From before, {', '.join(kinds)}: {text}" for text, kinds in origins.items()]
    parts += [*second([result]), *former(name), NOTES, page(result)]
    return "\n\n".join(parts) + "\n"


def second(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """A note where results are of another ROM of BrambleDash than the one that is here."""
    played = {rom for result in results for rom in _roms(result)}
    return [SECOND] if played - {rom_hash(GAME)} else []


def former(name: str) -> list[str]:
    """A note where results are with other weights than those that are shipped."""
    return [FORMER] if name in WITH_FORMER else []


def _roms(content: Any) -> Iterator[str]:
    """The ROMs of BrambleDash that a stored result names."""
    inside = content.items() if isinstance(content, Mapping) else ()
    for name, part in [*inside, *enumerate(content if isinstance(content, list) else ())]:
        if name == GAME and isinstance(part, str):
            yield part
        yield from _roms(part)


def speed_page() -> str:
    """Of all benchmarks, a section each."""
    cases = "What each case times: [cases](../../benchmarks/cases.md)."
    parts = ["# Speed", MARK.format("`lab/benchmarks/results`"), cases]
    for path in sorted((ROOT / "lab" / "benchmarks" / "results").glob("*.json")):
        result = read_result(path)
        parts += [f"## {path.stem}", origin(result), *row_tables(result["rows"])]
    return "\n\n".join(parts) + "\n"


def row_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table for all rows that begin with the same word; a part of many numbers by itself."""
    tables: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        first, *others = row
        metrics = [] if first in ("ratio", "limit") else [n for n in others if n not in AIMS]
        tables.setdefault((first, *metrics), []).append(row)
    found = []
    for same in tables.values():
        names = list(dict.fromkeys(name for row in same for name in row))
        if len(same) == 1 and len(names) > WIDE:
            found.append(table([names[0], value(same[0][names[0]])], [
                [title(name), value(same[0][name])] for name in names[1:]
            ]))  # fmt: skip
        else:
            body = [[value(row.get(name)) for name in names] for row in same]
            found.append(table(list(map(title, names)), body))
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
    paths = sorted((ROOT / "retro_agents" / "contest" / "results").glob("*.json"))
    results = {path.stem: read_result(path) for path in paths}
    runs: dict[str, Runs] = {
        name: as_runs({row["level"]: row["by_seed"] for row in result["levels"]})
        for name, result in results.items()
    }
    order = sorted(runs, key=lambda name: statistics.mean(runs[name]))

    def zone(level: str) -> str:
        return short(level).partition(".")[0]

    zones = {zone(name) for name in level_names("bramble-train")}
    rows = []
    for name in order:
        seen, unseen = (
            statistics.mean({k: v for k, v in runs[name].items() if (zone(k) in zones) == there})
            for there in (True, False)
        )
        overall = results[name]["overall"]
        rows.append([
            name,
            player(results[name]["agent"]),
            number(results[name]["agent"]["timesteps"]),
            number(len(overall["by_seed"])),
            number(statistics.mean(runs[name])),
            span(statistics.t_interval(statistics.seed_means(runs[name]))),
            number(statistics.interquartile_mean(runs[name])),
            number(seen),
            number(unseen),
            *(number(overall[count]) for count in ("best", "episodes", "finished")),
        ])  # fmt: skip
    head = ["", "agent", "steps on each level", "seeds", "mean return", "95 % over seeds"]
    head += ["interquartile mean", "levels of seen zones", "of unseen zones"]
    levels = list(runs[order[0]])
    by_level = [
        [short(level), *(number(mean_of(runs[name][level])) for name in order)] for level in levels
    ]
    parts = ["# Contest", MARK.format("`retro_agents/contest/results`")]
    parts += [*second(list(results.values())), *former("contest"), NOTES]
    parts += [table([*head, "best", "episodes", "finished"], rows)]
    parts += [table(["mean over seeds", *order], by_level)]
    return "\n\n".join(parts) + "\n"


def player(agent: Mapping[str, Any]) -> str:
    """Who played, and how."""
    words = [agent["name"], agent["mode"] or "", *agent["flags"]]
    if agent["checkpoint"]:
        words.append(f"from {agent['checkpoint'].partition('/checkpoints')[0]}")
    return " ".join(filter(None, words))


def references_page() -> str:
    """What the cartridge's reference players reach, over levels that count alike."""
    with REFERENCES.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    held_out = {short(name) for name in level_names("bramble-test")}
    body = []
    for agent in dict.fromkeys(row["agent"] for row in rows):
        cells = [agent, next(row["episodes"] for row in rows if row["agent"] == agent)]
        for levels in (held_out, {row["level"] for row in rows}):
            here = [row for row in rows if row["agent"] == agent and row["level"] in levels]
            ended, episodes = (sum(int(r[k]) for r in here) for k in ("finished", "episodes"))
            cells.append(number(round(float(np.mean([float(r["mean_return"]) for r in here])))))
            cells.append(f"{ended:,} of {episodes:,}")
        body.append(cells)
    head = ["player", "episodes on each level", "mean return, held-out levels", "finished"]
    head += ["mean return, all levels", "finished"]
    source = MARK.format("`retro_agents/games/retro/data/references.csv`")
    return "\n\n".join(["# Reference players", source, table(head, body)]) + "\n"
