"""The report's HTML: one page that loads nothing."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from retro_agents.contest.match.scores import notes
from retro_agents.contest.report.charts import (
    describe,
    histogram,
    hover,
    line_chart,
    stroke,
    svg,
    values_at,
)
from retro_agents.contest.report.contests import BINS, Entry, Shown, level_names, mean_curve
from retro_agents.contract.envs import LARGEST_RETURN
from retro_agents.judging.score import interval_text

References = Mapping[str, Mapping[str, float]]
"""{player: {level: mean return}}"""


def page(
    entries: Sequence[Entry], *, references: References, films: Sequence[Shown], title: str
) -> str:
    """The whole page."""
    templates = Environment(
        loader=PackageLoader("retro_agents.contest.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "number": "{:z,.0f}".format,
        "interval": interval_text,
        "percent": percent,
    }
    rows = sorted(
        ((row.level, entry.timesteps), row.mean)
        for entry in entries
        if entry.whole
        for row in entry.scores.levels
    )
    roms = set[tuple[str, str]]().union(*(entry.scores.roms for entry in entries))
    return templates.get_template("report.html").render(
        title=title,
        entries=entries,
        references=references,
        films=films,
        names=level_names(entries),
        players=players(entries, references),
        best=dict(rows),  # the last of a level and number of steps is their highest
        levels=sorted({level for (level, _), _ in rows}),
        steps_differ=len({entry.timesteps for entry in entries}) > 1,
        levels_differ=len({frozenset(entry.by_level) for entry in entries}) > 1,
        roms_differ=len({game for game, _ in roms}) < len(roms),
        curves=learning_curves(entries),
        progress=progress_charts(entries),
        strokes=[stroke(number) for number in range(len(entries) + len(references))],
        notes=notes,
    )


def percent(score: float) -> str:
    """The position of a score on a bar, as a CSS length."""
    return f"{float(np.clip(score / LARGEST_RETURN, 0.0, 1.0)):.2%}"


def players(entries: Sequence[Entry], references: References) -> list[dict[str, Any]]:
    """Agents, then references, in the form that the leaderboard and the page's script use."""
    names = level_names(entries)
    rows = [
        (e.label, e.scores.overall.mean, {row.level: row.mean for row in e.scores.levels})
        for e in entries
    ]
    rows += [(name, fmean(scores.values()), dict(scores)) for name, scores in references.items()]
    steps = [entry.timesteps for entry in entries]
    steps += [max(steps)] * len(references)
    whole = [entry.whole for entry in entries] + [True] * len(references)
    return [
        {
            "label": label,
            "number": number,
            "mean": mean,
            "steps": steps[number],
            "whole": whole[number],
            "levels": {names[n]: levels[n] for n in levels},
        }
        for number, (label, mean, levels) in enumerate(rows)
    ]


def learning_curves(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """(heading, chart, tooltips) of all levels together, and of each level."""
    names = level_names(entries)
    charts = []
    for level in [None, *sorted({level for entry in entries for level in entry.by_level})]:
        there = [(n, e) for n, e in enumerate(entries) if level is None or level in e.by_level]
        curves = [mean_curve(entry, number, level) for number, entry in there]
        heading = "all levels" if level is None else names[level]
        words = f"Score so far on {heading}: {'; '.join(map(describe, curves))}"
        chart = line_chart(curves, x_label="agent steps")
        charts.append((heading, svg(chart, description=words), hover(chart, values_at(curves))))
    return charts


def progress_charts(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """(heading, chart, tooltips) of how far episodes got, unless an entry has no episodes."""
    charts = []
    for number, entry in enumerate(entries):
        shares = entry.progress
        if shares is None:
            continue
        often = f"most often {100 * int(shares.argmax()) // BINS} % of the level"
        words = often if shares.any() else "no episode has ended"
        chart = histogram(shares, number=number, x_label="furthest point, % of the level")
        text = svg(chart, description=f"How far the episodes of {entry.label} got: {words}")
        width = 100 // BINS
        bars = [f"{k * width} to {(k + 1) * width} %: {s:.1%}" for k, s in enumerate(shares)]
        charts.append((entry.label, text, hover(chart, bars, part=0.5 / BINS)))
    return charts
