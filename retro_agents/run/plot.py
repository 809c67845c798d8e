# PYTHON_ARGCOMPLETE_OK
"""Learning curves of one or more runs, as a PNG.

retro-agents plot runs/a runs/b --label scratch pretrained --out curve.png
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.ground.drawing import any_backend
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import drafted, why_no_run
from retro_agents.ground.output import printable
from retro_agents.ground.ranges import Count
from retro_agents.ground.statistics import t_interval
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import positional
from retro_agents.run.metrics import EPISODE_COLUMNS, read_columns

KINDS = (".png", ".svg", ".pdf")


@dataclasses.dataclass(frozen=True)
class PlotConfig:
    """Draw the learning curves of runs."""

    runs: tuple[Path, ...] = positional("RUN")
    """Run folders; runs under the same label are seeds of one curve: their mean, each run thin
    behind it, and of three or more a band, the 95 % interval of the mean at each step."""
    label: tuple[str, ...] = ()
    """One label per run; default: the folders' names, or their paths if two names are equal."""
    out: Path = Path("curve.png")
    """The PNG (or SVG, PDF) to write."""
    column: str = "r"
    """Column to draw, of episodes.csv or else of metrics.csv."""
    window: Count | None = None
    """Number of rows averaged into each point; default: 20 of episodes.csv, 1 of metrics.csv."""
    title: str = ""
    """Title of the plot."""


def plot_curves(
    curves: Mapping[str, Sequence[Path]],
    out: Path,
    *,
    column: str = "r",
    window: int = 20,
    title: str = "",
    levels: Mapping[str, float] | None = None,
    log: bool = False,
) -> Path:
    """Draw one curve per label (the mean over its run folders, each run thin behind it; of three or
    more, in the band of its 95 % interval over runs) -> out.

    column: of episodes.csv, or else of metrics.csv. window: rows averaged into each point.
    levels: horizontal dashed lines, such as {"random": 812.0}. log: whether the steps' axis is
    logarithmic, for runs of very different lengths.
    Raises UserError if a run lacks the column, or if `out` is no picture or cannot be written.
    """
    with picture(out, x="agent steps", y="mean return" if column == "r" else column) as axes:
        axes.set_title(printable(title), parse_math=False)
        axes.set_xscale("log" if log else "linear")
        for number, (label, runs) in enumerate(curves.items()):
            colour = f"C{number}"
            drawn = [smooth(*read_curve(run, column), window=window) for run in runs]
            if len(drawn) > 1:
                for steps, values in drawn:
                    marker = marker_of(steps)
                    axes.plot(steps, values, color=colour, alpha=0.3, linewidth=0.8, marker=marker)
            steps, each = on_shared_steps(drawn)
            marker, said = marker_of(steps), f" {label}"
            if len(drawn) > 2:
                ends = np.reshape([t_interval(at) for at in each.T], (-1, 2))
                axes.fill_between(steps, *ends.T, color=colour, alpha=0.15, linewidth=0.0)
                said += f" (band: 95 % interval over {len(drawn)} runs)"
            mean = each.mean(axis=0)
            axes.plot(steps, mean, color=colour, label=said, linewidth=1.8, marker=marker)
        for number, (label, value) in enumerate((levels or {}).items()):
            colour = f"C{len(curves) + number}"
            axes.axhline(value, color=colour, label=label, linestyle="--", linewidth=1.2)
    return out


@contextmanager
def picture(out: Path, *, x: str, y: str = "mean return") -> Iterator[Any]:
    """Axes with these labels to draw on; they are then written to `out` with a legend.

    Raises UserError if `out` is no kind of picture, or cannot be written.
    """
    if out.suffix not in KINDS:
        raise UserError(f"cannot draw {out}: expected a name that ends in {', '.join(KINDS)}")
    with any_backend():
        from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    yield axes
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    if labels := axes.get_legend_handles_labels()[1]:
        legend = axes.legend(fontsize="small" if len(labels) > 6 else None)
        for text in legend.get_texts():
            text.set_parse_math(False)
            text.set_text(printable(text.get_text().removeprefix(" ")))  # "_" would hide a label
    with drafted(out) as draft:
        figure.savefig(draft)


def read_curve(run: Path, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps [K] and values [K] of a column of a run's episodes.csv, or else of its metrics.csv."""
    seen: list[str] = []
    names = ["episodes.csv", "metrics.csv"]
    for name in names if column in EPISODE_COLUMNS else names[::-1]:
        if not (run / name).exists():
            continue
        columns = read_columns(run / name)
        if column in columns:
            steps, values = columns["step"], columns[column]
            if values.dtype.kind != "f":
                raise UserError(f"{run}: column {column!r} is text; give one of numbers")
            good = np.isfinite(values)
            if not good.any():
                raise UserError(f"{run}: column {column!r} has no value yet")
            return steps[good], values[good]
        seen += [text for text in columns if text not in seen]
    if not seen:
        why = why_no_run(run) or "no episodes.csv, no metrics.csv"
        raise UserError(f"{run} is not a run folder: {why}")
    raise UserError(f"{run} has no column {column!r}; it has: {', '.join(seen)}")


def smooth(steps: np.ndarray, values: np.ndarray, *, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the last `window` rows at each row [K]; fewer at the start."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - window, 0)
    return steps, (sums[ends] - sums[begins]) / (ends - begins)


def marker_of(steps: np.ndarray) -> str | None:
    """The marker of a curve's points: only where they are too few for a line that can be seen."""
    return "o" if len(np.unique(steps)) < 3 else None


def on_shared_steps(
    drawn: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """200 steps [K] where all curves are known, or a single one's own; and each curve's values
    there [curves, K]."""
    if len(drawn) == 1:
        return drawn[0][0], drawn[0][1][None]
    first = max(steps[0] for steps, _ in drawn)
    last = min(steps[-1] for steps, _ in drawn)
    grid = np.linspace(first, last, 200 if first <= last else 0)
    return grid, np.array([np.interp(grid, steps, values) for steps, values in drawn])


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Draw the plot that the command line describes."""
    config = parse_command(PlotConfig, argv, command="retro-agents plot")
    labels = config.label or tuple(run.absolute().name for run in config.runs)
    if not config.label and len(set(labels)) < len(set(config.runs)):
        labels = tuple(map(str, config.runs))
    if len(labels) != len(config.runs):
        raise UserError(f"{len(config.runs)} runs but {len(labels)} labels; give one per run")
    curves: dict[str, list[Path]] = {}
    for label, run in zip(labels, config.runs, strict=True):
        curves.setdefault(label, []).append(run)
    window = config.window or (20 if config.column in EPISODE_COLUMNS else 1)
    out = plot_curves(curves, config.out, column=config.column, window=window, title=config.title)
    print(out)


if __name__ == "__main__":
    main()
