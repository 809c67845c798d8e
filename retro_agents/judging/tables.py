"""Tables, in Markdown and on the terminal, and the numbers in them."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from retro_agents.ground.statistics import ANYWHERE, Interval, t_interval

NOTHING = "Nothing is complete yet."


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table: `left` columns left-aligned, others right-aligned, empty ones left out."""
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    lines = [["---" if i < left else "---:" for i in kept]]
    lines += [[row[i] for i in kept] for row in (head, *rows)]
    lines[:2] = lines[1::-1]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def records(rows: Sequence[Mapping[str, str]], *, left: int = 1) -> str:
    """A Markdown table of rows that name their columns and may lack some; "" without rows."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in head] for row in rows]
    return table(head, cells, left=left) if rows else ""


def terminal_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", left: int = 1
) -> Table:
    """A table for a terminal, with `left` columns left-aligned, which are folded where there is too
    little room; the others break between words, and a word that is cut off ends in "…". An empty
    row draws a line."""
    shown = Table(
        title=escape(title) or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    for i, name in enumerate(head):
        way: Any = {"overflow": "fold"} if i < left else {"justify": "right"}
        shown.add_column(name, **way)
    for row in rows:
        if row:
            shown.add_row(*map(escape, row))
        else:
            shown.add_section()
    return shown


def number(value: float | None) -> str:
    """A number with at least three significant digits; "" for None."""
    if value is None or math.isnan(value):
        return ""
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def decimal(value: float, digits: int) -> str:
    """A number with so many decimals, and no minus before a zero; "" for nan."""
    if math.isnan(value):
        return ""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def signed(value: float) -> str:
    """A difference of returns."""
    return f"{value:+,.0f}".replace("-", "−")


def span(interval: Interval) -> str:
    """An interval of returns; "" if it is not known."""
    low, high = interval
    if math.isnan(low):
        return ""
    ends = (number(end) if max(-low, high) < 100 else f"{end:,.0f}" for end in interval)
    return " – ".join(ends).replace("-", "−")


def with_interval(values: Sequence[float], *, within: Interval = ANYWHERE, digits: int = 2) -> str:
    """A mean, followed by its 95 % interval in brackets if there are several values. within: the
    least and the largest possible value."""
    mean, interval = decimal(fmean(values), digits), t_interval(values, within=within)
    return f"{mean}{bracketed(interval, digits)}"


def bracketed(interval: Interval, digits: int) -> str:
    """ " (low – high)", to follow a mean; "" if it is not known."""
    if math.isnan(interval[0]):
        return ""
    low, high = (decimal(end, digits) for end in interval)
    return f" ({low} – {high})"
