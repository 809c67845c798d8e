"""Markdown tables and the numbers in them."""

import math
from collections.abc import Sequence

from retro_agents.ground.statistics import Interval

NOTHING = "Nothing is complete yet."


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
