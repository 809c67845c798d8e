"""What a study has found: its cells as one result, and the result as Markdown and curves."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from envs.sight import PLAYS
from experiment import statistics
from experiment.plot import plot_curves
from experiment.statistics import Interval, Runs
from studies.runner import record_of
from studies.study import Study, cells, made, short

NOTHING = "Nothing is complete yet."
COUNTS = ("episodes", "finished", "steps")
THRESHOLDS = (2_500, 5_000, 7_500)
"""Of the performance profile: a level is worth 10,000."""
Kinds = dict[str, dict[str, Any]]
"""Kind -> made, runs {level: {seed: mean return}}, best, episodes, finished, steps, last, curve,
lost, grown, cpu_hours, sight {play: as runs}; origin of one that was stored before the others."""


def collect(study: Study, out: Path) -> Kinds:
    """All kinds that have a complete cell."""
    found: Kinds = {}
    for cell in (cell for name in study.kinds for cell in cells(study, name)):
        record = record_of(study, cell, out)
        if record is None:
            continue
        counts = dict.fromkeys(COUNTS, 0)
        empty = {"made": made(study, cell.kind), "runs": {}, "best": -math.inf, **counts}
        kind = found.setdefault(cell.kind, empty)
        for level, mean in record["levels"].items():
            kind["runs"].setdefault(level, {})[str(cell.seed)] = mean
        for play, levels in record.get("sight", {}).items():
            own = kind.setdefault("sight", {}).setdefault(play, {})
            for level, mean in levels.items():
                own.setdefault(level, {})[str(cell.seed)] = mean
        kind["best"] = max(kind["best"], record["best"])
        for name in COUNTS:
            kind[name] += record[name]
        for name in ("last", "curve", "lost", "grown", "cpu_hours"):
            if name in record:
                kind.setdefault(name, []).append(record[name])
    return found


def draw(study: Study, out: Path) -> None:
    """Learning curves of each group on each level, of the runs that are complete."""
    pictures: dict[str, dict[str, list[Path]]] = {}
    for cell in (cell for name in study.kinds for cell in cells(study, name)):
        if record_of(study, cell, out) is not None and (out / cell.name / "metrics.csv").is_file():
            group, _, kind = cell.kind.rpartition("/")
            place = "all levels" if cell.together else short(cell.level)
            runs = pictures.setdefault(f"{group} {place}".strip(), {})
            runs.setdefault(kind, []).append(out / cell.name)
    for title, curves in pictures.items():
        plot_curves(curves, out / f"{title.replace(' ', '-')}.png", title=f"Return: {title}")


def page(result: Mapping[str, Any]) -> str:
    """A result's tables, group by group."""
    kinds: Kinds = result["kinds"]
    if not kinds:
        return NOTHING
    parts = []
    for group in dict.fromkeys(name.rpartition("/")[0] for name in kinds):
        here = {n.rpartition("/")[2]: k for n, k in kinds.items() if n.rpartition("/")[0] == group}
        parts += [f"## {group}"] if group else []
        parts.append(kind_table(here))
        pairs = [pair for pair in result["compare"] if pair[0].rpartition("/")[0] == group]
        parts.append(compare_table(kinds, pairs))
        parts.append(lost_table(here))
        parts.append(grown_table(here))
        parts.append(level_table({name: runs_of(kind) for name, kind in here.items()}))
        parts += [
            curve_table(name, kind["curve"]) for name, kind in here.items() if "curve" in kind
        ]
    return "\n\n".join(part for part in parts if part)


def runs_of(kind: Mapping[str, Any]) -> Runs:
    """Level -> seed -> mean return."""
    return as_runs(kind["runs"])


def as_runs(stored: Mapping[str, Mapping[str, float]]) -> Runs:
    """The same as it is stored, where seeds are text."""
    found = stored.items()
    return {level: {int(s): mean for s, mean in seeds.items()} for level, seeds in found}


def kind_table(kinds: Mapping[str, dict[str, Any]]) -> str:
    """A row per kind."""
    last = list(dict.fromkeys(n for k in kinds.values() for one in k.get("last", ()) for n in one))
    head = ["", "mean return", "95 % over seeds", "interquartile mean", "95 %"]
    head += [f"above {threshold:,}" for threshold in THRESHOLDS]
    head += [text for play in PLAYS[1:] for text in (play, f"seeing − {play}, 95 %")] + ["sees"]
    head += [f"{name.replace('_', ' ')}, last tenth" for name in last]
    rows = []
    for name, kind in kinds.items():
        row = [name, *score_cells(kind), *sight_cells(kind)]
        for column in last:
            values = [v for one in kind.get("last", ()) if (v := one.get(column)) is not None]
            row.append(number(fmean(values)) if values else "")
        counts = [number(kind.get(count)) for count in ("best", "episodes", "finished")]
        seeds = {len(level) for level in runs_of(kind).values()}
        each = "–".join(map(str, sorted({min(seeds), max(seeds)})))
        rows.append([*row, *counts, f"{len(runs_of(kind))} × {each}", cpu_minutes(kind)])
    return table([*head, "best", "episodes", "finished", "levels × seeds", "CPU min"], rows)


def cpu_minutes(kind: Mapping[str, Any]) -> str:
    """Of a run, mean over those that were played in one go; nothing where there is none."""
    known = kind.get("cpu_hours")
    return f"{60.0 * fmean(known):.1f}" if known else ""


def score_cells(kind: Mapping[str, Any]) -> list[str]:
    """Mean, its interval, interquartile mean, its interval, performance profile."""
    runs = runs_of(kind)
    return [
        number(statistics.mean(runs)),
        span(statistics.t_interval(statistics.seed_means(runs))),
        number(statistics.interquartile_mean(runs)),
        span(statistics.interquartile_interval(runs)),
        *(f"{100 * part:.0f} %" for part in statistics.profile(runs, THRESHOLDS)),
    ]


def sight_cells(kind: Mapping[str, Any]) -> list[str]:
    """Mean by the pictures of other moments, by none, what seeing gains over either, and whether it
    surely gains over both: of kinds of which that is known."""
    if "sight" not in kind:
        return [""] * (2 * len(PLAYS) - 1)
    own, cells, gains = statistics.seed_means(runs_of(kind)), [], []
    for play in PLAYS[1:]:
        runs = as_runs(kind["sight"][play])
        gain = statistics.welch_interval(own, statistics.seed_means(runs))
        cells += [number(statistics.mean(runs)), span(gain)]
        gains.append(gain[0])
    known = not math.isnan(sum(gains))
    return [*cells, ("yes" if min(gains) > 0.0 else "not shown") if known else ""]


def lost_table(kinds: Kinds) -> str:
    """Where the points are that an episode lacks, of kinds of which that is known."""
    known = {name: kind["lost"] for name, kind in kinds.items() if "lost" in kind}
    parts = list(dict.fromkeys(part for runs in known.values() for part in runs[0]))
    rows = []
    for name, runs in known.items():
        means = [fmean([run[part] for run in runs]) for part in parts]
        rows.append(
            [name, number(round(sum(means))), *(f"{100 * m / sum(means):.0f} %" for m in means)]
        )
    return table(["lost of 10,000", "points", *parts], rows) if rows else ""


def grown_table(kinds: Kinds) -> str:
    """The score so far after each tenth of the steps, mean over runs; empty where one has none."""
    rows = [
        [name, *(number(None if None in t else round(fmean(t))) for t in zip(*runs, strict=True))]
        for name, kind in kinds.items()
        if (runs := kind.get("grown"))
    ]
    tenths = [f"{10 * (i + 1)} %" for i in range(len(rows[0]) - 1)] if rows else []
    return table(["score so far after", *tenths], rows) if rows else ""


def compare_table(kinds: Kinds, pairs: Sequence[Sequence[str]]) -> str:
    """A row per pair, over the levels that both have, and all their seeds."""
    rows = []
    for one, other in pairs:
        if not {one, other} <= kinds.keys():
            continue
        both = statistics.shared(runs_of(kinds[one]), runs_of(kinds[other]))
        if not both[0]:
            continue
        seeds = [statistics.seed_means(runs) for runs in both]
        chance = statistics.improvement_interval(*both)
        rows.append([
            f"{one.rpartition('/')[2]} − {other.rpartition('/')[2]}",
            signed(statistics.mean(both[0]) - statistics.mean(both[1])),
            span(statistics.welch_interval(*seeds)),
            f"{statistics.improvement(*both):.2f}",
            "" if math.isnan(chance[0]) else f"{chance[0]:.2f} – {chance[1]:.2f}",
        ])  # fmt: skip
    head = ["difference", "mean", "95 % over seeds", "probability of improvement", "95 %"]
    return table(head, rows) if rows else ""


def level_table(kinds: Mapping[str, Runs]) -> str:
    """Mean over seeds on each level, a column per kind."""
    levels = list(dict.fromkeys(level for runs in kinds.values() for level in runs))
    rows = [
        [level, *(number(mean_of(runs.get(level, {}))) for runs in kinds.values())]
        for level in levels
    ]
    return table(["mean over seeds", *kinds], rows) if rows else ""


def curve_table(name: str, curves: Sequence[Mapping[str, Sequence[float]]]) -> str:
    """What was kept of a kind's metrics: a row per run and column, in the order of their steps."""
    steps = max((curve["step"] for curve in curves), key=len)
    rows = [
        [f"{column}, run {run}", *map(number, values)]
        for run, curve in enumerate(curves, 1)
        for column, values in curve.items()
    ]
    return table([f"{name}", *(str(i + 1) for i in range(len(steps)))], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown: the first column to the left, the others to the right, empty ones left out."""
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    lines = [["---", *["---:"] * (len(kept) - 1)]]
    lines += [[row[i] for i in kept] for row in (head, *rows)]
    lines[:2] = lines[1::-1]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None) -> str:
    """Readable to three digits at least; nothing for what is not known."""
    if value is None or math.isnan(value):
        return ""
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def signed(value: float) -> str:
    """A difference of returns."""
    return f"{value:+,.0f}".replace("-", "−")


def span(interval: Interval) -> str:
    """An interval of returns; nothing for what is not known."""
    low, high = interval
    if math.isnan(low):
        return ""
    return f"{low:,.0f} – {high:,.0f}".replace("-", "−")


def mean_of(values: Mapping[int, float]) -> float | None:
    """None where there is no value."""
    return sum(values.values()) / len(values) if values else None
