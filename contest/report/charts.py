"""Charts as SVG text: small enough for a phone, coloured by the page's own variables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from html import escape
from typing import final

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 34
COLOURS = 8
"""Of the style sheet: c0 … c7."""
DASHES = ("", "6 3", "2 3", "8 3 2 3")
"""Lines differ in more than colour."""


def stroke(number: int) -> str:
    """Class and dashes of agent `number`'s line: no two of the first 32 look alike."""
    dash = DASHES[(number // 2 + number // COLOURS) % len(DASHES)]
    style = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="line c{number % COLOURS}"{style}'


@final
@dataclasses.dataclass(frozen=True)
class Curve:
    """A line: y over x, nan where there is none; low and high bound its band, if it has one."""

    label: str
    number: int
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None


def line_chart(curves: Sequence[Curve], *, title: str, x_label: str) -> str:
    """Lines with bands over a shared x, from 0 -> SVG."""
    values = [v for c in curves for v in (c.y, c.low, c.high) if v is not None]
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.zeros(1)
    right = max((float(curve.x[-1]) for curve in curves), default=1.0)
    bottom = min(0.0, float(finite.min(initial=0.0)))
    ticks = nice_ticks(bottom, max(float(finite.max(initial=1.0)), 1.0))
    across = nice_ticks(0.0, right)
    frame = Frame(0.0, right, min(bottom, ticks[0]), ticks[-1])
    parts = [grid(frame, across, ticks, x_label=x_label)]
    parts += [band(frame, curve) for curve in curves]
    parts += [path(frame, curve) for curve in curves]
    return svg(parts, title=f"{title}: {'; '.join(map(told, curves))}")


def histogram(shares: NDArray[np.float64], *, number: int, title: str, x_label: str) -> str:
    """Bars of shares (summing to 1) of equal parts of 0 to 100 % -> SVG."""
    top = nice_ticks(0.0, max(float(shares.max(initial=0.0)), 0.01) * 100)
    frame = Frame(0.0, 100.0, 0.0, top[-1])
    parts = [grid(frame, [0, 25, 50, 75, 100], top, x_label=x_label, unit=" %")]
    width = 100.0 / len(shares)
    for index, share in enumerate(shares):
        x, y = frame.at(index * width, share * 100)
        base = frame.at(0, 0)[1]
        wide = frame.at(width, 0)[0] - frame.at(0, 0)[0] - 1
        parts.append(
            f'<rect x="{x + 0.5:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{base - y:.1f}" '
            f'class="bar c{number % COLOURS}"/>'
        )
    return svg(parts, title=title)


@final
@dataclasses.dataclass(frozen=True)
class Frame:
    """The rectangle of values that a chart shows."""

    x0: float
    x1: float
    y0: float
    y1: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a value is drawn."""
        across = (x - self.x0) / ((self.x1 - self.x0) or 1.0)
        up = (y - self.y0) / ((self.y1 - self.y0) or 1.0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (
            HEIGHT - TOP - BOTTOM
        )


def grid(
    frame: Frame, across: Sequence[float], up: Sequence[float], *, x_label: str, unit: str = ""
) -> str:
    """Lines and numbers of both axes."""
    parts = []
    for value in up:
        x, y = frame.at(frame.x0, value)
        parts.append(f'<path class="grid" d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}"/>')
        text = short_number(value) + unit
        parts.append(f'<text x="{x - 5:.1f}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for value in across:
        x, _ = frame.at(value, 0)
        if x <= WIDTH - RIGHT + 0.5:
            anchor = "end" if x > WIDTH - 24 else "middle"
            text = short_number(value)
            parts.append(
                f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="{anchor}">{text}</text>'
            )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle" class="label">'
        f"{escape(x_label)}</text>"
    )
    return "".join(parts)


def path(frame: Frame, curve: Curve) -> str:
    """A curve's line, broken where it has no value; a point by itself is a dot."""
    d, pen = "", "M"
    for x, y in zip(curve.x, curve.y, strict=True):
        if not math.isfinite(y):
            pen = "M"
            continue
        right, down = frame.at(float(x), float(y))
        d += f"{pen}{right:.1f} {down:.1f}{'h0' * (pen == 'M')}"
        pen = "L"
    return f'<path {stroke(curve.number)} d="{d}"/>' if d else ""


def band(frame: Frame, curve: Curve) -> str:
    """The area between a curve's bounds."""
    if curve.low is None or curve.high is None:
        return ""
    there = np.isfinite(curve.low) & np.isfinite(curve.high)
    if there.sum() < 2:
        return ""
    over = [
        frame.at(float(x), float(y)) for x, y in zip(curve.x[there], curve.high[there], strict=True)
    ]
    under = [
        frame.at(float(x), float(y)) for x, y in zip(curve.x[there], curve.low[there], strict=True)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*over, *reversed(under)])
    return f'<polygon class="band c{curve.number % COLOURS}" points="{points}"/>'


def svg(parts: Sequence[str], *, title: str) -> str:
    """A chart that says in words what it shows."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )


def nice_ticks(low: float, high: float, *, count: int = 5) -> list[float]:
    """Round numbers that cover low to high, about `count` of them."""
    step = nice_step((high - low) / count)
    first, end = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(end, first + 1) + 1)]


def nice_step(rough: float) -> float:
    """The 1, 2, 2.5 or 5 times a power of ten that is next above."""
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return power * next(m for m in (1.0, 2.0, 2.5, 5.0, 10.0) if rough <= m * power * 1.0001)


def short_number(value: float) -> str:
    """12500 -> 12.5k, 1000000 -> 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def told(curve: Curve) -> str:
    """A curve in a few words."""
    finite = curve.y[np.isfinite(curve.y)]
    ends = f"ends at {finite[-1]:,.0f}" if len(finite) else "has no ended episode"
    return f"{curve.label} {ends}"
