"""Charts as SVG text, in the colours of the page's style sheet, so that they follow its theme."""

import dataclasses
import io
import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.drawing import any_backend

with any_backend():
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, MaxNLocator, StrMethodFormatter

COLOURS = 8
"""Number of colours in the style sheet: c0 … c7."""
DASHES = ((), (6, 3), (2, 3), (8, 3, 2, 3))
"""Line styles, so that lines differ in more than colour."""
SOFT, RULE = "#fefe20", "#fefe21"
VARIABLES = {f"#fefe{n:02x}": f"var(--c{n})" for n in range(COLOURS)}
VARIABLES |= {SOFT: "var(--soft)", RULE: "var(--line)"}
"""Colours that charts are drawn with, and the style-sheet names that replace them."""
STYLE: Any = {
    "axes.autolimit_mode": "round_numbers",
    "axes.edgecolor": RULE,
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11.0,
    "grid.color": RULE,
    "lines.scale_dashes": False,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "contest",
}


@final
@dataclasses.dataclass(frozen=True)
class Curve:
    """A line: y over x, nan where it has no value; low and high bound its band, if any."""

    label: str
    number: int
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None


def stroke(number: int) -> tuple[int, tuple[int, ...]]:
    """Colour and dashes of agent `number`'s line; the first 32 all differ."""
    return number % COLOURS, DASHES[(number // 2 + number // COLOURS) % len(DASHES)]


@rc_context(STYLE)
def line_chart(curves: Sequence[Curve], *, x_label: str) -> Figure:
    """Lines with bands over a shared x, from 0. A lone point is a dot."""
    figure, axes = new_chart(x_label)
    for curve in curves:
        colour, dashes = stroke(curve.number)
        there = np.isfinite(np.concatenate([[np.nan], curve.y, [np.nan]]))
        alone = there[1:-1] & ~there[:-2] & ~there[2:]
        style: dict[str, Any] = {"color": f"#fefe{colour:02x}", "dashes": dashes, "linewidth": 2.0}
        axes.plot(curve.x, curve.y, marker=".", markevery=alone, **style)
        if curve.low is not None and curve.high is not None:
            band = axes.fill_between(curve.x, curve.low, curve.high, color=style["color"])
            band.set(alpha=0.18, linewidth=0.0)
    axes.set_xlim(0.0, max((float(curve.x[-1]) for curve in curves), default=1.0))
    axes.update_datalim([(0.0, 0.0), (0.0, 10.0)])
    axes.autoscale_view(scalex=False)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    return figure


@rc_context(STYLE)
def histogram(shares: NDArray[np.float64], *, number: int, x_label: str) -> Figure:
    """Bars of shares (summing to 1) over equal parts of 0 to 100 %."""
    figure, axes = new_chart(x_label)
    width = 100.0 / len(shares)
    colour = f"#fefe{stroke(number)[0]:02x}"
    lefts = np.arange(len(shares)) * width
    axes.bar(lefts, shares * 100, 0.9 * width, align="edge", color=colour)
    axes.set(xlim=(0.0, 100.0), ylim=(0.0, None), xticks=range(0, 101, 25))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g} %"))
    return figure


def new_chart(x_label: str) -> tuple[Figure, Axes]:
    """An empty chart, as wide as a phone's screen."""
    figure = Figure(figsize=(5.0, 2.9), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label, color=SOFT)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.tick_params(colors=SOFT, length=0.0, pad=6.0)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.margins(0.0, tight=False)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    return figure, axes


@rc_context(STYLE)
def svg(figure: Figure, *, description: str) -> str:
    """A chart as an element of a page. description: of what it shows."""
    file = io.StringIO()
    figure.savefig(
        file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    text = file.getvalue().partition("<svg")[2]
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # an id may occur only once in a page
    text = re.sub(r"(\.\d\d)\d+", r"\1", text).replace("\nL ", "L")  # to save space
    return f'<svg role="img" aria-label="{escape(description)}"{text}'


def hover(figure: Figure, texts: Sequence[str], *, part: float = 0.0) -> str:
    """Tooltips of a chart, as JSON: texts spread evenly from its left end to its right end.

    part: fraction of the axis left of the first text's place and right of the last one's. The
    figure must have been drawn by `svg`.
    """
    place = figure.axes[0].get_position()
    ends = place.x0 + part * place.width, place.x1 - part * place.width
    return json.dumps({"left": round(ends[0], 4), "right": round(ends[1], 4), "texts": texts})


def values_at(curves: Sequence[Curve]) -> list[str]:
    """Every curve's value at each x of the longest."""
    x = max((curve.x for curve in curves), key=lambda x: x[-1])
    texts = []
    for at in x:
        near = [(c, int(np.abs(c.x - at).argmin())) for c in curves if at <= c.x[-1]]
        values = [f"{c.label} {c.y[k]:z,.0f}" for c, k in near if np.isfinite(c.y[k])]
        texts.append(f"{at:,.0f} steps: {', '.join(values) or 'no ended episode'}")
    return texts


def describe(curve: Curve) -> str:
    """A description of a curve."""
    finite = curve.y[np.isfinite(curve.y)]
    ends = f"ends at {finite[-1]:z,.0f}" if len(finite) else "has no ended episode"
    return f"{curve.label} {ends}"
