"""A study's results: its cells as one result, and the result as Markdown."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from retro_agents.contract.envs import CONTEST_RETURNS
from retro_agents.ground import statistics
from retro_agents.ground.results import ROOT, read_result
from retro_agents.ground.statistics import Runs
from retro_agents.judging.sight import PLAYS
from retro_agents.judging.tables import NOTHING, number, records, signed, span
from retro_agents.sweeps.launcher import record_of
from retro_agents.sweeps.study import Study

OUT = ROOT / "docs" / "results"
COUNTS = ("episodes", "finished", "steps")
THRESHOLDS = (2_500, 5_000, 7_500)
"""Thresholds of the performance profile; a level gives up to 10,000."""
Kinds = dict[str, dict[str, Any]]
"""Kind -> made, runs {level: {seed: mean return}}, best, episodes, finished, steps, last, curve,
lost, grown, cpu_hours, sight {play: as runs}; origin of one that was stored before the others."""


def collect(study: Study, out: Path) -> Kinds:
    """All kinds that have a complete cell."""
    found: Kinds = {}
    for cell in (cell for name in study.kinds for cell in study.cells(name)):
        record = record_of(study, cell, out)
        if record is None:
            continue
        counts = dict.fromkeys(COUNTS, 0)
        empty = {"made": study.made(cell.kind), "runs": {}, "best": -math.inf, **counts}
        kind = found.setdefault(cell.kind, empty)
        for play, levels in {"": record["levels"], **record.get("sight", {})}.items():
            runs = kind.setdefault("sight", {}).setdefault(play, {}) if play else kind["runs"]
            for level, mean in levels.items():
                runs.setdefault(level, {})[str(cell.seed)] = mean
        kind["best"] = max(kind["best"], record["best"])
        for name in COUNTS:
            kind[name] += record[name]
        for name in ("last", "curve", "lost", "grown", "cpu_hours"):
            if name in record:
                kind.setdefault(name, []).append(record[name])
    return found


def page(result: Mapping[str, Any]) -> str:
    """A result's tables, group by group."""
    kinds: Kinds = result["kinds"]
    if not kinds:
        return NOTHING
    parts = []
    for group in dict.fromkeys(name.rpartition("/")[0] for name in kinds):
        here = {n.rpartition("/")[2]: k for n, k in kinds.items() if n.rpartition("/")[0] == group}
        pairs = [pair for pair in result["compare"] if pair[0].rpartition("/")[0] == group]
        parts += [f"## {group}" if group else "", kind_table(here), compare_table(kinds, pairs)]
        parts += [lost_table(here), grown_table(here), level_table(here)]
        parts += [
            curve_table(name, kind["curve"]) for name, kind in here.items() if "curve" in kind
        ]
    return "\n\n".join(part for part in parts if part)


def as_runs(stored: Mapping[str, Mapping[str, float]]) -> Runs:
    """Level -> seed -> mean return, from the stored form, in which seeds are text."""
    return {level: {int(s): m for s, m in seeds.items()} for level, seeds in stored.items()}


def kind_table(kinds: Mapping[str, dict[str, Any]]) -> str:
    """A table with a row per kind."""
    last = dict.fromkeys(n for kind in kinds.values() for one in kind.get("last", ()) for n in one)
    rows = []
    for name, kind in kinds.items():
        row = {"": name, **score_cells(as_runs(kind["runs"])), **sight_cells(kind)}
        for column in last:
            values = [v for one in kind.get("last", ()) if (v := one.get(column)) is not None]
            mean = fmean(values) if values else None
            row[f"{column.replace('_', ' ')}, last tenth"] = number(mean)
        row |= {count: number(kind.get(count)) for count in ("best", "episodes", "finished")}
        seeds = sorted({len(level) for level in as_runs(kind["runs"]).values()})
        each = "–".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
        row["levels × seeds"] = f"{len(as_runs(kind['runs']))} × {each}"
        # Averaged over those runs that were not interrupted.
        known = kind.get("cpu_hours")
        rows.append({**row, "CPU min": f"{60.0 * fmean(known):.1f}" if known else ""})
    return records(rows)


def score_cells(runs: Runs) -> dict[str, str]:
    """Mean, its interval, interquartile mean, its interval, performance profile."""
    profile = zip(THRESHOLDS, statistics.profile(runs, THRESHOLDS), strict=True)
    return {
        "mean return": number(statistics.mean(runs)),
        "95 % over seeds": seeds_span(runs),
        "interquartile mean": number(statistics.interquartile_mean(runs)),
        "its 95 %": span(statistics.interquartile_interval(runs)),
        **{f"above {threshold:,}": f"{100 * part:.0f} %" for threshold, part in profile},
    }


def seeds_span(runs: Runs) -> str:
    """The interval of the mean over seeds."""
    return span(statistics.t_interval(statistics.seed_means(runs), within=CONTEST_RETURNS))


def sight_cells(kind: Mapping[str, Any]) -> dict[str, str]:
    """Mean with the frames of other moments, mean blind, the gain of seeing over each, and whether
    both gains are significant; for kinds with a test of sight."""
    own = statistics.seed_means(as_runs(kind["runs"]))
    cells, gains = dict[str, str](), list[float]()
    for play in PLAYS[1:]:
        runs = as_runs(kind.get("sight", {}).get(play, {}))
        gain = statistics.welch_interval(own, statistics.seed_means(runs), within=CONTEST_RETURNS)
        cells[play] = number(statistics.mean(runs)) if runs else ""
        cells[f"seeing − {play}, 95 %"] = span(gain)
        gains.append(gain[0])
    sees = "yes" if min(gains) > 0.0 else "not shown"
    return {**cells, "sees": "" if math.isnan(sum(gains)) else sees}


def lost_table(kinds: Kinds) -> str:
    """Where episodes lose points, for kinds of which that is known."""
    rows = []
    for name, runs in ((name, kind["lost"]) for name, kind in kinds.items() if "lost" in kind):
        means = {part: fmean(run[part] for run in runs) for part in runs[0]}
        total = sum(means.values())
        shares = {part: f"{100 * mean / total:.0f} %" for part, mean in means.items()}
        rows.append({"lost of 10,000": name, "points": number(round(total)), **shares})
    return records(rows)


def grown_table(kinds: Kinds) -> str:
    """The score so far after each tenth of the steps, mean over runs; empty if a run has none."""
    rows = []
    for name, runs in ((name, kind["grown"]) for name, kind in kinds.items() if "grown" in kind):
        tenths = [None if None in of else round(fmean(of)) for of in zip(*runs, strict=True)]
        cells = {f"{10 * i} %": number(mean) for i, mean in enumerate(tenths, 1)}
        rows += [{"score so far after": name, **cells}] if any(cells.values()) else []
    return records(rows)


def compare_table(kinds: Kinds, pairs: Sequence[Sequence[str]]) -> str:
    """A row per pair, over the levels that both have, and all their seeds."""
    rows = []
    for one, other in pairs:
        if not {one, other} <= kinds.keys():
            continue
        both = statistics.shared(as_runs(kinds[one]["runs"]), as_runs(kinds[other]["runs"]))
        if not both[0]:
            continue
        low, high = statistics.improvement_interval(*both)
        seeds = [statistics.seed_means(runs) for runs in both]
        rows.append({
            "difference": f"{one.rpartition('/')[2]} − {other.rpartition('/')[2]}",
            "mean": signed(statistics.mean(both[0]) - statistics.mean(both[1])),
            "95 % over seeds": span(statistics.welch_interval(*seeds, within=CONTEST_RETURNS)),
            "probability of improvement": f"{statistics.improvement(*both):.2f}",
            "its 95 %": "" if math.isnan(low) else f"{low:.2f} – {high:.2f}",
        })  # fmt: skip
    return records(rows)


def level_table(kinds: Kinds) -> str:
    """Mean over seeds on each level, a column per kind."""
    means = {
        name: {level: fmean(seeds.values()) for level, seeds in kind["runs"].items()}
        for name, kind in kinds.items()
    }
    levels = dict.fromkeys(level for found in means.values() for level in found)
    return records([
        {"mean over seeds": level, **{name: number(own.get(level)) for name, own in means.items()}}
        for level in levels
    ])  # fmt: skip


def curve_table(name: str, curves: Sequence[Mapping[str, Sequence[float]]]) -> str:
    """The kept columns of a kind's metrics: a row per run and column, in order of steps."""
    return records([
        {name: f"{column}, run {run}", **{str(i): number(v) for i, v in enumerate(values, 1)}}
        for run, curve in enumerate(curves, 1)
        for column, values in curve.items()
    ])  # fmt: skip


def results_in(folder: str) -> dict[str, dict[str, Any]]:
    """The stored results of a folder, by file name."""
    return {path.stem: read_result(path) for path in sorted((ROOT / folder).glob("*.json"))}


def document(title: str, source: str, *parts: str) -> str:
    """A page of docs/results. source: where its numbers are stored."""
    mark = f"Generated by `python -m lab.studies tables` from `{source}`; do not edit."
    return "\n\n".join([f"# {title}", mark, *parts]) + "\n"


def origin(result: Mapping[str, Any]) -> str:
    """How and where the result was measured."""
    machine = result["machine"]
    backends = {"": "", "emulator": "in emulators; ", "native": "natively; "}
    backend = backends[result.get("backend", "")]
    return (
        f"`{result['command']}` at commit {result['commit']}; {backend}{machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, Python {machine['python']}, torch {machine['torch']}."
    )
