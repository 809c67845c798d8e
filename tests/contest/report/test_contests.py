"""What a report shows, against the episodes themselves."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from retro_agents.contest.report import contests
from retro_agents.contest.report.contests import (
    curve,
    held,
    mean_curve,
    progress_shares,
    read_entries,
    read_references,
)
from retro_agents.ground.errors import UserError
from tests.contest.made_up import GAME, LEVELS, write_contest


def test_curve_is_the_score_so_far_and_bands_span_the_seeds(tmp_path):
    rows = {
        "step": np.array([31.0, 40.0, 100.0]),
        "r": np.array([10.0, 30.0, 2.0]),
        "complete": np.array([1.0, 1.0, 0.0]),
    }
    x = np.array([0.0, 34.0, 40.0, 80.0, 100.0])
    early = curve(rows, x, end=50, score=14.0)
    assert np.array_equal(early, [np.nan, 10.0, 20.0, 14.0, np.nan], equal_nan=True)
    assert curve(rows, x, end=100, score=14.0)[2:].tolist() == [20.0, 20.0, 14.0]
    assert curve({}, x, end=100, score=0.0)[-2:].tolist() == pytest.approx(
        [np.nan, 0.0], nan_ok=True
    )
    (entry,) = read_entries([write_contest(tmp_path, "mine", seeds=3, score=5000.0)])
    level = f"{GAME}:{LEVELS[0]}"
    seeds = np.stack([entry.curves[level, seed] for seed in range(3)])[:, -1]
    found = mean_curve(entry, 0, level)
    ends = [found.low[-1], found.y[-1], found.high[-1]]
    np.testing.assert_allclose(ends, [seeds.min(), seeds.mean(), seeds.max()])
    y = np.array([np.nan, 10.0, 4.0, np.nan, np.nan])
    np.testing.assert_array_equal(held(y), [np.nan, 10.0, 4.0, 4.0, 4.0])
    shares = progress_shares(np.array([0.0, 0.049, 0.5, 1.0]))
    assert (shares[0], shares[10], shares[19]) == (0.5, 0.25, 0.25)
    assert progress_shares(np.zeros(0)).sum() == 0


@pytest.mark.parametrize("gap", [False, True])
def test_curves_end_where_the_leaderboard_is(tmp_path, gap):
    out = write_contest(tmp_path / "a", "x", seeds=2, score=1000.0)
    for level, seed in ((LEVELS[0], 0), (LEVELS[1], 1)) if gap else ():
        shutil.rmtree(next(out.glob(f"*{level}")) / f"seed-{seed}")
    (entry,) = read_entries([out])
    assert mean_curve(entry, 0, None).y[-1] == pytest.approx(entry.scores.overall.mean)
    for row in entry.scores.levels:
        assert mean_curve(entry, 0, row.level).y[-1] == pytest.approx(row.mean)
    next(out.glob("*/*/episodes.csv")).unlink()
    with pytest.raises(UserError, match="not a run folder"):
        read_entries([out])


def test_references_are_of_known_levels_and_of_this_cartridge(tmp_path):
    out = write_contest(tmp_path / "a", "x", seeds=1, score=1.0)
    assert set(read_references(read_entries([out]))) >= {
        f"{name} (reference)" for name in ("random", "hold-right", "run-and-jump", "oracle")
    }
    write_contest(tmp_path / "a", "x", seeds=1, score=1.0, level="Nowhere.Act1")
    assert read_references(read_entries([out])) == {}
    out = write_contest(tmp_path / "b", "x", seeds=1, score=1.0)
    for path in out.glob("*/seed-*/result.json"):
        path.write_text(path.read_text().replace("BrambleDash-", "BrambleDash7-"))
    assert read_references(read_entries([out])) == {}


def test_labels_differ_where_folders_have_the_same_name(tmp_path, monkeypatch):
    folders = [
        write_contest(tmp_path / at / "run", "rainbow", seeds=1, score=score)
        for at, score in (("a", 2000.0), ("b", 1000.0))
    ]
    labels = [entry.label for entry in read_entries(folders)]
    assert labels == [f"rainbow [{folder}]" for folder in folders]
    monkeypatch.chdir(write_contest(tmp_path / "here", "rainbow", seeds=1, score=3000.0))
    twice = [Path(), folders[0], folders[0] / ".." / "run"]
    labels = [entry.label for entry in read_entries(twice)]
    assert labels == ["rainbow [here]", "rainbow [run]"]


def test_the_film_of_a_level_is_of_its_best_recorded_episode(tmp_path, monkeypatch):
    monkeypatch.setattr(contests, "film", lambda path: path)
    out = write_contest(tmp_path, "mine", seeds=3, score=5000.0, level=LEVELS[0])
    (folder,) = out.glob(f"*{LEVELS[0]}")
    best = {"seed-0": 9000.0, "seed-1": 7000.0, "seed-2": 8000.0}  # the first has no recording
    for name, value in best.items():
        result = json.loads((folder / name / "result.json").read_text()) | {"best_return": value}
        (folder / name / "result.json").write_text(json.dumps(result))
    for name in ("seed-1", "seed-2"):
        (folder / name / "best.bk2").touch()
    (shown,) = contests.best_films(read_entries([out]))
    assert (shown.seed, shown.score) == (2, 8000.0)
    assert shown.film == folder / "seed-2" / "best.bk2"
