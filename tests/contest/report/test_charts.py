import re

import numpy as np
import pytest

from retro_agents.contest.report.charts import Curve, describe, histogram, line_chart, stroke, svg

NAN = float("nan")


def curve(y, **bounds):
    """Of agent 0, over 0, 50, 100, …"""
    values = np.asarray(y, float)
    low_high = {name: np.asarray(bound, float) for name, bound in bounds.items()}
    return Curve("a", 0, 50.0 * np.arange(len(values)), values, **low_high)


def lines(*curves):
    return line_chart(curves, x_label="steps")


def axes(figure):
    (found,) = figure.axes
    return found


def test_values_are_drawn_over_round_axes_that_begin_at_0():
    chart = axes(lines(curve([500.0, 9321.0]), curve([NAN, 40.0, 100.0])))
    assert chart.lines[0].get_xydata().tolist() == [[0.0, 500.0], [50.0, 9321.0]]
    assert chart.get_xlim() == (0.0, 100.0)
    assert chart.get_yticks().tolist() == [0, 2000, 4000, 6000, 8000, 10000]
    assert chart.get_ylim() == (0.0, 10000.0)
    low, high = axes(lines(curve([-120.0, 300.0]))).get_ylim()
    assert low <= -120.0 and high >= 300.0
    assert axes(lines(curve([NAN, NAN]))).get_ylim() == (0.0, 10.0)
    assert axes(lines()).get_xlim() == (0.0, 1.0)


def test_bands_and_bars_are_as_high_as_their_values():
    chart = axes(lines(curve([2.0, 30.0], low=[1.0, 20.0], high=[3.0, 40.0])))
    (band,) = chart.collections
    corners = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert corners == {(0.0, 1.0), (0.0, 3.0), (50.0, 20.0), (50.0, 40.0)}
    chart = axes(histogram(np.array([0.25, 0.0, 0.5, 0.25]), number=0, x_label="x"))
    bars = [(bar.get_x(), bar.get_height()) for bar in chart.patches]
    assert bars == [(0.0, 25.0), (25.0, 0.0), (50.0, 50.0), (75.0, 25.0)]


@pytest.mark.parametrize(
    ("y", "breaks", "strokes", "dots"),
    [
        ([NAN, 1.0, 2.0, NAN, 3.0, 4.0], 2, 2, 0),
        ([NAN, 1.0, NAN], 1, 0, 1),
        ([1.0, 2.0, NAN], 1, 1, 0),
    ],
)
def test_line_breaks_where_there_is_no_value_and_a_point_by_itself_is_drawn(
    y, breaks, strokes, dots
):
    text = svg(lines(curve(y)), description="")
    path = re.search(r'<path d="([^"]+)"[^>]*style="fill: none; stroke: var\(--c0\)', text)[1]
    assert (path.count("M"), path.count("L"), text.count("<use")) == (breaks, strokes, dots)


def test_chart_has_the_pages_colours_and_words():
    figures = [lines(curve([1.0, 2.0], low=[0.0, 1.0], high=[2.0, 3.0])) for _ in range(2)]
    first, again = (svg(figure, description='a "<b>" ends') for figure in figures)
    assert first == again
    assert first.startswith('<svg role="img" aria-label="a &quot;&lt;b&gt;&quot; ends" ')
    assert {"var(--c0)", "var(--soft)", "var(--line)"} <= set(re.findall(r"var\([^)]*\)", first))
    assert describe(curve([1.0, 3.0, NAN])) == "a ends at 3"
    assert describe(curve([NAN])) == "a has no ended episode"
    assert len({stroke(number) for number in range(32)}) == 32
