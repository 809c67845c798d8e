"""The course's pictures show what is stored."""

import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.studies.pictures import PICTURES, main, points_of
from lab.studies.procgen_pages import rows_of
from lab.studies.report import results_in
from retro_agents.ground.results import ROOT

pytest.importorskip("matplotlib")


def test_points_are_means_over_seeds_in_the_courses_unit_beside_theirs():
    def row(seed, value):
        known = {"method": "PPO", "encoder": "nature", "hidden": 32, "num_levels": 10}
        returns = {name: {"course": [value, value + 1.0]} for name in ("train", "test")}
        return {**known, "timesteps": 1_000_000, "seed": seed, **returns}

    results = {"levels": {"rows": [row(0, 4.0), row(1, 6.0)]}, "levels-1": {"rows": [row(1, 6.0)]}}
    points = points_of(rows_of(results, "levels"), "num_levels")
    assert points["train"]["10"] == pytest.approx((5.5, 2 * 2**0.5, 11.4))
    assert points["test"]["10"][2] == 6.6


def test_every_picture_is_drawn_from_what_is_stored(tmp_path):
    main(["--out", str(tmp_path)])
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {f"course-{name}.png" for name in PICTURES}
    stored = results_in("lab/studies/results/course")
    assert all(len(rows_of(stored, name)) > 1 for name in PICTURES)


def test_the_notebook_shows_every_picture(tmp_path, monkeypatch):
    notebook, shown = ROOT / "lab" / "studies" / "course.ipynb", []
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(Image=shown.append))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(notebook.parent)
    names = {"__name__": "notebook"}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert [path.stem for path in shown] == list(PICTURES) and all(map(Path.is_file, shown))
