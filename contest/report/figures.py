"""The report's charts and films as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from contest.report.charts import Curve, histogram, line_chart, stroke
from contest.report.entries import BINS, Entry, Shown


def section(heading: str, body: str, *, explained: str = "") -> str:
    """A part of the page."""
    text = f'<p class="soft">{escape(explained)}</p>' if explained else ""
    return f"<section>\n<h2>{escape(heading)}</h2>\n{text}{body}\n</section>\n"


def learning_curves(entries: Sequence[Entry], names: Mapping[str, str]) -> str:
    """One chart of all levels, one of each."""
    levels = sorted({level for entry in entries for level, _ in entry.curves})
    charts = [("all levels", [mean_curve(entry, n, None) for n, entry in enumerate(entries)])]
    for level in levels:
        there = [(n, e) for n, e in enumerate(entries) if any(key[0] == level for key in e.curves)]
        charts.append((names[level], [mean_curve(e, n, level) for n, e in there]))
    cards = [
        card(name, line_chart(curves, title=f"Return on {name}", x_label="agent steps"))
        for name, curves in charts
    ]
    return section(
        "Learning curves",
        legend(entries) + f'<div class="cards">{"".join(cards)}</div>',
        explained="Mean return of the episodes that ended in the last twentieth of the run; "
        "bands span the seeds.",
    )


def mean_curve(entry: Entry, number: int, level: str | None) -> Curve:
    """An entry's curve on a level, or the mean over its levels; a band where there are seeds.

    A level on which no episode ended in a seed is left out of it.
    """
    drawn = {key: y for key, y in entry.curves.items() if np.isfinite(y).any()}
    rows = []
    for seed in sorted({seed for _, seed in drawn}):
        mine = [y for (name, s), y in drawn.items() if s == seed and level in (None, name)]
        if mine:
            rows.append(np.stack(mine).mean(axis=0))  # nan until each level has begun
    if not rows:
        return Curve(entry.label, number, entry.x, np.full(len(entry.x), np.nan))
    stack: NDArray[np.float64] = np.stack(rows)
    if len(rows) < 2:
        return Curve(entry.label, number, entry.x, stack[0])
    whole = np.isfinite(stack).all(axis=0)
    low, high = (np.where(whole, bound, np.nan) for bound in (stack.min(axis=0), stack.max(axis=0)))
    return Curve(entry.label, number, entry.x, stack.mean(axis=0), low, high)


def legend(entries: Sequence[Entry]) -> str:
    """Which line is whose."""
    items = []
    for number, entry in enumerate(entries):
        line = f'<path {stroke(number)} d="M0 6H32"/>'
        drawn = f'<svg viewBox="0 0 32 12" aria-hidden="true">{line}</svg>'
        items.append(f"<li>{drawn}{escape(entry.label)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def card(heading: str, body: str) -> str:
    """A box with a heading."""
    return f'<div class="card"><h3>{escape(heading)}</h3>{body}</div>\n'


def most_often(entry: Entry) -> str:
    """How far most episodes came."""
    if not entry.progress.any():
        return "no episode has ended"
    return f"most often {100 * int(entry.progress.argmax()) // BINS} % of the level"


def histograms(entries: Sequence[Entry]) -> str:
    """How far episodes came, one chart per agent."""
    cards = [
        card(
            entry.label,
            histogram(
                entry.progress,
                number=number,
                title=f"How far the episodes of {entry.label} came: {most_often(entry)}",
                x_label="furthest point, % of the level",
            ),
        )
        for number, entry in enumerate(entries)
    ]
    return section(
        "How far episodes came",
        f'<div class="cards">{"".join(cards)}</div>',
        explained="Share of all episodes by the furthest point that they reached.",
    )


def film_cards(films: Sequence[Shown], names: Mapping[str, str]) -> str:
    """The best episode of each level, and why some cannot be shown."""
    if not films:
        return ""
    cards = []
    for shown in films:
        if shown.film is None:
            continue
        speed = "" if shown.film.speed == 1 else f", shown {shown.film.speed:g} times as fast"
        told = (
            f"{shown.label}, seed {shown.seed}: return {shown.score:,.0f} in "
            f"{shown.film.seconds:.0f} s{speed}"
        )
        name = escape(f"Best episode on {names[shown.level]}", quote=True)
        cards.append(
            f'<figure class="card"><h3>{escape(names[shown.level])}</h3>'
            f'<video controls muted loop playsinline preload="metadata" aria-label="{name}" '
            f'poster="{shown.film.poster}" src="{shown.film.video}"></video>'
            f"<figcaption>{escape(told)}</figcaption></figure>\n"
        )
    lacking = "".join(
        f'<p class="soft">{escape(f"No film of {names[shown.level]}: {shown.reason}.")}</p>'
        for shown in films
        if shown.film is None
    )
    return section(
        "Best episodes",
        f'<div class="cards">{"".join(cards)}</div>{lacking}',
        explained="The highest return on each level among all agents shown here.",
    )
