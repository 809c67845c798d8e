"""The report's HTML: one page that loads nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from contest.match.scores import interval_text, notes
from contest.report.charts import COLOURS
from contest.report.entries import Entry, Shown, level_names, roms
from contest.report.figures import film_cards, histograms, learning_curves, section

HERE = Path(__file__).parent / "templates"
TOP = 10_000.0
"""Contest reward of a level finished at once: the right end of the bars."""
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; media-src data:"
)
References = Mapping[str, Mapping[str, float]]
Names = Mapping[str, str]
"""How levels are shown, of `level_names`."""


def page(
    entries: Sequence[Entry], *, references: References, films: Sequence[Shown], title: str
) -> str:
    """The whole page. references: {player: {level: mean return}}."""
    names = level_names(entries)
    sections = [
        leaderboard(entries, references),
        level_table(entries, references, names),
        learning_curves(entries, names),
        comparison(entries, references, names),
        histograms(entries),
        film_cards(films, names),
        details(entries, names),
    ]
    css = (HERE / "report.css").read_text(encoding="utf-8")
    script = (HERE / "report.js").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>
{css}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{"".join(sections)}
</main>
<script>
{script}</script>
</body>
</html>
"""


def leaderboard(entries: Sequence[Entry], references: References) -> str:
    """Agents and references by score."""
    rows = []
    for number, entry in enumerate(entries):
        row = entry.standings.overall
        seeds = len(row.by_seed)
        part = "" if all(one.whole for one in entry.standings.played) else "up to "
        whole = f"{seeds} seed{'s' * (seeds > 1)}" if seeds else "no seed with all levels"
        told = (
            f"{part}{entry.timesteps:,} steps per level, {whole}, "
            f"{row.episodes:,} episodes, {row.finished:,} finished"
        )
        rows.append((row.mean, board_row(entry.label, told, row.mean, row.interval, number)))
    for name, scores in references.items():
        mean = sum(scores.values()) / len(scores)
        told = "reference of the levels' makers, whole episodes"
        rows.append((mean, board_row(name, told, mean, (np.nan, np.nan), None)))
    rows.sort(key=lambda row: -row[0])
    warning = ""
    if len({frozenset(row.label for row in e.standings.levels) for e in entries}) > 1:
        warning = '<p class="warn">The agents played different levels: means do not compare.</p>'
    played = set[tuple[str, str]]().union(*map(roms, entries))
    if len({game for game, _ in played}) < len(played):
        warning += (
            '<p class="warn">They played different ROMs of a game: scores do not compare.</p>'
        )
    head = "<thead><tr><th scope=col>agent</th><th scope=col>score</th></tr></thead>"
    body = "".join(text for _, text in rows)
    table = f'<div class="scroll"><table id="board">{head}<tbody>{body}</tbody></table></div>'
    return section(
        "Leaderboard",
        warning + table,
        explained="Score: mean return of all episodes, learning included, over all levels; 10,000 "
        "is the most. Marks: 95 % bootstrap interval over seeds; of up to three, all they span.",
    )


def board_row(
    label: str, told: str, mean: float, interval: tuple[float, float], number: int | None
) -> str:
    """One row with its bar. number: of an agent's colour; None for a reference."""
    kind = "reference" if number is None else f"c{number % COLOURS}"
    marks = ""
    if np.isfinite(interval[0]):
        low, high = (percent(value) for value in interval)
        marks = f'<b style="left:{low:.2f}%;width:{max(high - low, 0.3):.2f}%"></b>'
    bar = (
        f'<div class="track {kind}" aria-hidden="true">'
        f'<i style="width:{percent(mean):.2f}%"></i>{marks}</div>'
    )
    small = "" if np.isnan(interval[0]) else f'<span class="small">{interval_text(interval)}</span>'
    return (
        f'<tr class="{"reference" if number is None else ""}"><th scope="row">{escape(label)}{bar}'
        f'<span class="small wrap">{escape(told)}</span></th><td>{mean:,.0f}{small}</td></tr>\n'
    )


def percent(score: float) -> float:
    """Where a score lies on a bar."""
    return float(np.clip(score / TOP, 0.0, 1.0)) * 100


def level_table(entries: Sequence[Entry], references: References, names: Names) -> str:
    """Levels down, agents across."""
    columns = [
        (entry.label, {row.label: (row.mean, row.interval) for row in entry.standings.levels})
        for entry in entries
    ]
    levels = sorted({level for _, scores in columns for level in scores})
    head = "".join(f"<th scope=col>{escape(label)}</th>" for label, _ in columns)
    head += "".join(f'<th scope=col class="reference">{escape(n)}</th>' for n in references)
    body = []
    for level in levels:
        scores = [column.get(level) for _, column in columns]
        best = max(score[0] for score in scores if score)
        cells = [score_cell(score, best=best) for score in scores]
        cells += [f'<td class="reference">{of[level]:,.0f}</td>' for of in references.values()]
        body.append(f'<tr><th scope="row">{escape(names[level])}</th>{"".join(cells)}</tr>\n')
    table = (
        f'<div class="scroll"><table id="levels"><thead><tr><th scope=col>level</th>{head}</tr>'
        f"</thead><tbody>{''.join(body)}</tbody></table></div>"
    )
    lists = "".join(
        f"<li>{escape(entry.label)}: {escape(note.removeprefix('- '))}</li>"
        for entry in entries
        for note in notes(entry.standings, names)
    )
    return section("Score per level", f'{table}<ul class="soft">{lists}</ul>')


def score_cell(score: tuple[float, tuple[float, float]] | None, *, best: float) -> str:
    """A mean with its interval, the level's best marked."""
    if score is None:
        return "<td>–</td>"
    mean, interval = score
    small = "" if np.isnan(interval[0]) else f'<span class="small">{interval_text(interval)}</span>'
    marked = f'<span class="best">{mean:,.0f}</span>' if mean == best else f"{mean:,.0f}"
    return f"<td>{marked}{small}</td>"


def comparison(entries: Sequence[Entry], references: References, names: Names) -> str:
    """Two agents, chosen by the reader, level by level."""
    data: list[dict[str, Any]] = [
        {
            "label": entry.label,
            "number": number,
            "levels": {names[row.label]: row.mean for row in entry.standings.levels},
        }
        for number, entry in enumerate(entries)
    ]
    for name, scores in references.items():
        levels = {names[level]: score for level, score in scores.items()}
        data.append({"label": name, "number": len(data), "levels": levels})
    text = json.dumps(data).replace("<", "\\u003c")
    picks = "".join(
        f'<label>{word}<select id="{name}">{options(data, chosen)}</select></label>'
        for word, name, chosen in (("this agent", "first", 0), ("beside", "second", 1))
    )
    table = (
        '<div class="scroll"><table id="duels"><thead><tr><th scope=col>level</th>'
        '<th scope=col id="head-first"></th><th scope=col id="head-second"></th>'
        "<th scope=col>lead</th></tr></thead><tbody></tbody></table></div>"
    )
    body = (
        f'<div class="pick">{picks}</div><p id="verdict" aria-live="polite"></p>{table}'
        "<noscript><p>Choosing needs JavaScript; the table above has all scores.</p></noscript>"
        f'<script type="application/json" id="scores">{text}</script>'
    )
    return section(
        "Two agents, level by level",
        body,
        explained="A bar to the left of its middle: the first is better there.",
    )


def options(data: Sequence[Mapping[str, Any]], chosen: int) -> str:
    """Of a select; the last one chosen where there are too few."""
    chosen = min(chosen, len(data) - 1)
    return "".join(
        f'<option value="{n}"{" selected" * (n == chosen)}>{escape(one["label"])}</option>'
        for n, one in enumerate(data)
    )


def details(entries: Sequence[Entry], names: Names) -> str:
    """Every run with what it was made of."""
    rows = []
    for entry in entries:
        for one in entry.standings.played:
            cells = [
                names[one.level],
                str(one.seed),
                f"{one.mean:,.0f}",
                f"{one.steps:,}",
                f"{one.seconds:,.0f}",
                one.status,
                str(one.result.get("rom_sha1", "–"))[:12],
            ]
            tds = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{escape(entry.label)}</th>{tds}</tr>\n')
    heads = ("agent", "level", "seed", "score", "steps", "seconds", "status", "ROM (SHA-1)")
    head = "".join(f"<th scope=col>{name}</th>" for name in heads)
    made = "".join(f"<li>{escape(made_of(entry))}</li>" for entry in entries)
    body = (
        f'<details><summary>All runs</summary><ul class="soft">{made}</ul><div class="scroll">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
    )
    return section("What was run", body)


def made_of(entry: Entry) -> str:
    """An agent's checkpoint, settings and versions in a line."""
    facts = entry.facts
    parts = [entry.label]
    if facts.get("checkpoint"):
        parts.append(f"checkpoint {facts['checkpoint']} ({facts['checkpoint_sha256'][:12]})")
    if facts.get("flags"):
        parts.append(f"settings {' '.join(facts['flags'])}")
    versions = entry.standings.played[0].result.get("versions", {})
    parts.append(", ".join(f"{name} {number}" for name, number in sorted(versions.items())))
    return "; ".join(parts)
