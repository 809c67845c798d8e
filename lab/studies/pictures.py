"""The course's pictures, ours beside theirs, from the stored results.

python -m lab.studies.pictures --out docs/results
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.studies.procgen_pages import Row, grouped, rows_of, theirs_of
from lab.studies.report import OUT, results_in
from retro_agents.ground.errors import command
from retro_agents.ground.files import make_folder
from retro_agents.run.command_line import parse_command
from retro_agents.run.plot import picture
from retro_agents.sweeps.grid import two_sigma

PICTURES = {
    "levels": ("num_levels", "training levels"),
    "beta": ("method", "weight β of the KL penalty"),
    "encoders": ("encoder", "convolutions"),
    "methods": ("method", "method"),
}
"""Picture -> the field that its runs differ in, and that field in words."""
COLOURS = {"train": "tab:red", "test": "tab:blue"}


@dataclass(frozen=True)
class PicturesConfig:
    """Draw the course's pictures, ours beside theirs, from the stored results."""

    out: Path = OUT
    """Folder for course-levels.png, course-beta.png, course-encoders.png, course-methods.png."""


Point = tuple[float, float, float]
"""Our mean in the course's unit, two standard deviations over seeds, and theirs; nan if unknown."""


def points_of(rows: Sequence[Row], field: str) -> dict[str, dict[str, Point]]:
    """The set of levels -> the field's value -> its point. rows: runs that differ in that field."""
    found: dict[str, dict[str, Point]] = {name: {} for name in COLOURS}
    for (value,), alike in grouped(rows, [field]).items():
        theirs = theirs_of(alike[0]) or {}
        for name, points in found.items():
            own = [float(np.mean(row[name]["course"])) for row in alike]
            points[str(value)] = float(np.mean(own)), two_sigma(own), theirs.get(name, math.nan)
    return found


def place(value: str) -> float:
    """A value as a number: "penalty 0.5" as 0.5; nan if it is none."""
    try:
        return float(value.removeprefix("penalty "))
    except ValueError:
        return math.nan


def draw(points: Mapping[str, Mapping[str, Point]], out: Path, *, x: str) -> None:
    """Ours with their deviation over seeds, and theirs dashed, over values or names."""
    names = list(points["train"])
    numeric = all(math.isfinite(place(name)) for name in names)
    places = [place(name) for name in names] if numeric else [*map(float, range(len(names)))]
    order = np.argsort(places)
    where = np.array(places)[order]
    with picture(out, x=x, y="return in the course's unit ± 2 σ over seeds") as axes:
        for number, (name, colour) in enumerate(COLOURS.items()):
            ours, spread, theirs = np.array([*points[name].values()])[order].T
            known, marks = np.isfinite(theirs), {"color": colour, "marker": "o", "linestyle": ""}
            marks |= {"linestyle": "-"} if numeric else {}
            at = where if numeric else where + 0.1 * number  # so that bars do not hide each other
            label = f"theirs, {name} levels"
            faint = {**marks, "linestyle": "--" if numeric else "", "alpha": 0.5}
            axes.plot(at[known], theirs[known], label=label, **faint)
            axes.errorbar(at, ours, yerr=spread, capsize=3, label=f"{name} levels", **marks)
        if numeric:
            axes.set_xscale("log")
        else:
            axes.set_xticks(where, np.array(names)[order])


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Draw all pictures."""
    config = parse_command(PicturesConfig, argv, command="python -m lab.studies.pictures")
    make_folder(config.out)
    results = results_in("lab/studies/results/course")
    for name, (field, words) in PICTURES.items():
        out = config.out / f"course-{name}.png"
        draw(points_of(rows_of(results, name), field), out, x=words)
        print(out)


if __name__ == "__main__":
    main(sys.argv[1:])
