"""What the pages of results on Procgen say of made-up runs."""

import pytest

from lab.studies import procgen_pages
from lab.studies.procgen_pages import KNOWN_BY, by_number, entry_row, theirs_of
from retro_agents.ground.results import machine


def test_the_page_has_theirs_beside_ours_and_how_the_gap_changes(monkeypatch):
    gaps = {1: [20.0, 22.0], 10: [11.0, 9.0], 100: [0.5, -0.5]}
    rows = [
        {
            **dict(zip(KNOWN_BY, ("PPO", "nature", 32, levels), strict=True)),
            "seed": seed,
            "timesteps": 1_000_000,
            "train": {"raw": [5.0 + gap] * 2, "course": [8.0, 9.0], "normalised": 0.3},
            "test": {"raw": [5.0] * 2, "course": [4.0, 4.0], "normalised": 0.1},
        }
        for levels, seeds in gaps.items()
        for seed, gap in enumerate(seeds)
    ]
    other = {**rows[2], "timesteps": 2_000_000}  # and a run of its own, in two sweeps
    sweeps = {"levels": rows, "more": [rows[2], other], "again": [other]}
    origin = {"command": "python -m x", "commit": "c", "machine": machine()}
    results = {name: {**origin, "rows": found} for name, found in sweeps.items()}
    monkeypatch.setattr(procgen_pages, "results_in", lambda folder: results)
    lines = procgen_pages.course_page().splitlines()
    at_ten = next(line for line in lines if line.startswith("| PPO | nature | 32 | 10 |"))
    cells = at_ten.strip("| ").split(" | ")
    assert cells[4:6] == ["1,000,000", "2"]
    assert cells[6:9] == ["15.00 (2.29 – 27.71)", "5.00 (5.00 – 5.00)", "10.00 (−2.71 – 22.71)"]
    assert cells[9:] == ["0.300", "0.100", "8.5", "4.0", "2,000,000", "11.4", "6.6"]
    # Residuals' squares sum to 4.833, so the error is sqrt(4.833 / 4 / 4); t = 2.776445.
    (line,) = [line for line in lines if "changes by" in line]
    assert sum(line.startswith("| PPO | nature | 32 | 10 |") for line in lines) == 2
    assert "PPO, nature, 32 units, 1,000,000 steps" in line and "6 runs" in line
    assert "changes by −10.50 (−12.03 to −8.97)" in line


def test_penalties_are_in_the_order_of_their_numbers():
    names = ["penalty 10", "penalty 2", "PPO", "penalty 0.25"]
    assert sorted(names, key=by_number) == ["PPO", "penalty 0.25", "penalty 2", "penalty 10"]


def test_of_theirs_the_one_of_most_nearly_as_many_steps_is_shown():
    like = dict(zip(KNOWN_BY, ("PPO", "nature", 128, 400), strict=True))
    found = [theirs_of({**like, "timesteps": steps}) for steps in (1_000_000, 4_000_000)]
    assert [(row["timesteps"], row["train"]) for row in found] == [
        (2_000_000, 10.9),
        (4_000_000, 13.1),
    ]
    assert theirs_of({**like, "num_levels": 7, "timesteps": 1}) is None


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        (
            {"label": "PPO2", "seed": 3, "env_steps": 1000, "learning": 5, "learning_error": 1},
            ["PPO2", "coinrun", "3", "1,000", "5.00 ± 1.00", "", "", "", "", "8.9"],
        ),
        (
            {"label": "random play", "frozen": 3.0, "interval": [2.0, 4.0], "episodes": 2},
            ["random play", "coinrun", "", "", "", "3.00 (2.00 – 4.00)", "2", "", "", ""],
        ),
    ],
)
def test_an_entrys_row_stands_beside_theirs_and_leaves_empty_what_is_not_known(row, cells):
    theirs = {"steps": 8_000_000, "rows": {"PPO2": {"coinrun": 8.9}}}
    assert list(entry_row({"game": "coinrun", **row}, theirs).values()) == cells
