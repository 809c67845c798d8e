"""What the report says in numbers and draws, against the episodes themselves."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from contest.report.__main__ import main
from contest.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Curve,
    histogram,
    line_chart,
)
from contest.report.entries import read_entries, read_references
from contest.report.figures import mean_curve
from contest.wire.record import rom_hash
from tests.contest.report.test_report import GAME, LEVELS, write_contest


def played(folder: Path, state: str) -> list[float]:
    """Mean return of each seed on a level, read by hand."""
    files = sorted(folder.glob(f"*{state}/seed-*/episodes.csv"))
    rows = [[line.split(",") for line in file.read_text().splitlines()[1:]] for file in files]
    return [float(np.mean([float(row[2]) for row in each])) for each in rows]


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    return [
        write_contest(tmp_path / "good", "mine", seeds=3, score=5000.0),
        write_contest(tmp_path / "weak", "yours", seeds=1, score=900.0),
    ]


def page_of(folders: list[Path], out: Path) -> str:
    main([*map(str, folders), "--out", str(out), "--no-films"])
    return out.read_text()


def test_scores_are_the_means_of_the_episodes(folders: list[Path], tmp_path: Path) -> None:
    text = page_of(folders, tmp_path / "r.html")
    board = dict(re.findall(r'<th scope="row">([^<]+)<div.*?</th><td>([\d,]+)', text))
    table = text[text.index('id="levels"') :].partition("</table>")[0]
    rows = {
        row[0]: row[1:] for row in re.findall(r'"row">([^<]+)</th>' + 2 * r"<td>(.*?)</td>", table)
    }
    (data,) = re.findall(r'id="scores">(.*?)</script>', text)
    scores = {one["label"]: one["levels"] for one in json.loads(data)}
    for column, (name, folder) in enumerate(zip(("mine", "yours"), folders, strict=True)):
        means = {state: float(np.mean(played(folder, state))) for state in LEVELS}
        assert board[name] == f"{np.mean(list(means.values())):,.0f}"
        assert scores[name] == pytest.approx(means)
        for state in LEVELS:
            shown = re.sub("<[^>]+>", " ", rows[state][column]).split()
            assert shown[0] == f"{means[state]:,.0f}"


def test_bands_span_the_seeds(folders: list[Path]) -> None:
    entry = read_entries(folders)[0]
    level = f"{GAME}:{LEVELS[0]}"
    seeds = np.stack([entry.curves[level, seed] for seed in range(3)])[:, -1]
    found = mean_curve(entry, 0, level)
    assert found.low is not None and found.high is not None
    ends = [found.low[-1], found.y[-1], found.high[-1]]
    np.testing.assert_allclose(ends, [seeds.min(), seeds.mean(), seeds.max()])


def test_values_are_drawn_where_they_belong() -> None:
    x, y = np.array([0.0, 50.0, 100.0]), np.array([0.0, 500.0, 1000.0])
    drawn = line_chart([Curve("a", 0, x, y)], title="T", x_label="steps")
    (d,) = re.findall(r'class="line c0" d="([^"]+)"', drawn)
    points = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", d)]
    middle = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    assert points == [(LEFT, HEIGHT - BOTTOM), middle, (WIDTH - RIGHT, TOP)]


def test_bars_are_as_high_as_their_shares() -> None:
    drawn = histogram(np.array([0.25, 0.0, 0.5, 0.25]), number=0, title="T", x_label="x")
    heights = [float(h) for h in re.findall(r'<rect [^>]*height="([\d.]+)"', drawn)]
    top = max(float(text.split()[0]) for text in re.findall(r">([\d.]+ %)<", drawn))
    full = HEIGHT - BOTTOM - TOP
    np.testing.assert_allclose(heights, [full * part / top for part in (25, 0, 50, 25)], atol=0.06)


def test_a_point_by_itself_is_drawn() -> None:
    x = np.arange(3.0)
    drawn = line_chart([Curve("a", 0, x, np.array([np.nan, 1.0, np.nan]))], title="T", x_label="x")
    (d,) = re.findall(r'class="line c0" d="([^"]+)"', drawn)
    assert d.endswith("h0")  # with round caps, a dot


def test_an_agent_without_an_ended_episode_came_nowhere(tmp_path: Path) -> None:
    out = write_contest(tmp_path / "a", "mine", seeds=1, score=1000.0)
    for path in out.glob("*/seed-0/episodes.csv"):
        path.write_text(path.read_text().splitlines()[0] + "\n")
    text = page_of([out], tmp_path / "r.html")
    assert "episodes of mine came: no episode has ended" in text and "most often" not in text


def test_scores_of_another_rom_are_not_compared(folders: list[Path], tmp_path: Path) -> None:
    assert "different ROMs" not in page_of(folders, tmp_path / "r.html")
    for path in folders[1].glob("*/seed-0/result.json"):
        path.write_text(path.read_text().replace(rom_hash(GAME), "0" * 40))
    assert "different ROMs" in page_of(folders, tmp_path / "r.html")
    assert read_references(read_entries(folders[:1])) and not read_references(read_entries(folders))
