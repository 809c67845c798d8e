"""The report, from made-up contests and one real film, in a browser where there is one."""

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from contest.report.__main__ import main
from contest.report.charts import Curve, line_chart, nice_ticks, stroke
from contest.report.entries import curve, progress_shares, read_entries, read_references
from contest.report.figures import mean_curve
from contest.wire.record import rom_hash
from experiment.errors import UserError
from retro_env import make_env

GAME = "BrambleDash-Genesis-v0"
LEVELS = ("BrambleWood.Act3", "SnowRidge.Act4")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
VOID = {"meta", "link", "br", "img", "input", "source"}


def write_contest(
    out: Path, name: str, *, seeds: int, score: float, level: str = "", game: str = GAME
) -> Path:
    """A contest's folder: ten episodes of 100 steps on each level, returns around `score`."""
    rng = np.random.default_rng(0)
    rom = rom_hash(GAME)
    for state in [level] if level else LEVELS:
        for seed in range(seeds):
            folder = out / f"{game}-{state}" / f"seed-{seed}"
            folder.mkdir(parents=True)
            returns = (score + rng.normal(0, 100, 10)).tolist()
            rows = [
                f"{(i + 1) * 100},{game}:{state},{r},100,1,{r / 9000},0,1"
                for i, r in enumerate(returns)
            ]
            header = "step,level,r,l,t,progress,finished,complete"
            (folder / "episodes.csv").write_text("\n".join([header, *rows]) + "\n")
            result = {
                "level": f"{game}:{state}",
                "mean_return": float(np.mean(returns)),
                "best_return": max(returns),
                "episodes": 10,
                "finished": 0,
                "steps": 1000,
                "seconds": 3.0,
                "status": "complete",
                "rom_sha1": rom,
                "versions": {"numpy": "1"},
            }
            (folder / "result.json").write_text(json.dumps(result))
    facts = {"name": name, "mode": None, "timesteps": 1000, "flags": [], "checkpoint": ""}
    (out / "contest.json").write_text(json.dumps(facts))
    return out


class Checker(HTMLParser):
    """Tags that open and close in order; what the page would load; its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [v or "" for name, v in attrs if name in ("src", "href", "poster")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass  # closed by itself

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two contests, one with a name that must be escaped, and one film."""
    root = tmp_path_factory.mktemp("report")
    good = write_contest(root / "good", "mine:<b>&play", seeds=3, score=5000.0)
    weak = write_contest(root / "weak", "random", seeds=1, score=900.0)
    env = make_env(f"{GAME}:{LEVELS[0]}", record_dir=root / "bk2")
    env.reset(seed=0)
    for _ in range(30):
        env.step(1)
    env.close()
    next((root / "bk2").glob("*.bk2")).rename(
        next(good.glob(f"*{LEVELS[0]}")) / "seed-1" / "best.bk2"
    )
    page = root / "pages" / "report.html"
    main([str(good), str(weak), "--out", str(page), "--title", "Two <agents>"])
    return page


def test_page_is_whole_and_loads_nothing(report: Path) -> None:
    found = Checker(report.read_text())
    assert all(text.startswith("data:") for text in found.loads)
    assert "Two <agents>" in found.words and "mine:<b>&play" in found.words
    assert report.stat().st_size < 1_000_000


def test_page_has_scores_references_and_a_film(report: Path) -> None:
    text = report.read_text()
    board = text[text.index('id="board"') : text.index("Score per level")]
    order = [board.index(name) for name in ("oracle (reference)", "mine:", '">random')]
    assert order == sorted(order)
    assert "random (reference)" not in text  # it has played itself
    assert "No film of" not in text
    assert "seed 1: return" in text
    (video,) = re.findall(r'src="data:video/mp4;base64,([^"]+)"', text)
    assert base64.b64decode(video)[4:8] == b"ftyp"
    (poster,) = re.findall(r'poster="data:image/jpeg;base64,([^"]+)"', text)
    assert base64.b64decode(poster)[:2] == b"\xff\xd8"
    for label in re.findall(r'<svg [^>]*role="img" aria-label="([^"]*)"', text):
        assert len(label) > 20


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [390, 1200])
def test_browser_shows_the_comparison_and_nothing_too_wide(
    report: Path, tmp_path: Path, width: int
) -> None:
    """Headless Chromium runs the page's script, in a frame as wide as a phone or a desk."""
    outer = tmp_path / "outer.html"
    inner = json.dumps(report.read_text()).replace("</", "<\\/")
    outer.write_text(
        f"<iframe id=f style='width:{width}px;height:900px;border:0'></iframe><pre id=out></pre>"
        f"<script>f.onload = () => {{ const d = f.contentDocument; out.textContent = 'OUT ' + "
        "[d.documentElement.scrollWidth, d.querySelectorAll('#duels tbody tr').length, "
        "d.querySelector('#verdict').textContent].join('|') + ' END'; };"
        f"f.srcdoc = {inner};</script>"
    )
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000"]
    done = subprocess.run([*command, outer.as_uri()], capture_output=True, text=True, check=True)
    found = re.search(r">OUT (\d+)\|(\d+)\|(.*?) END", done.stdout)
    assert found is not None, done.stderr
    assert int(found[1]) <= width
    assert int(found[2]) == len(LEVELS)
    assert "is better on 2 of 2 levels" in found[3]


def test_one_agent_and_other_levels_make_a_page_too(tmp_path: Path) -> None:
    one = write_contest(tmp_path / "one", "rainbow", seeds=1, score=10.0)
    other = write_contest(tmp_path / "two", "rainbow", seeds=1, score=20.0, level=LEVELS[0])
    for folders in ([one], [one, other]):
        main([*map(str, folders), "--out", str(tmp_path / "r.html"), "--no-films"])
        text = (tmp_path / "r.html").read_text()
        Checker(text)
        assert ("different levels" in text) == (len(folders) == 2)
        assert ("rainbow [two]" in text) == (len(folders) == 2)


def test_recording_of_another_rom_is_not_filmed_and_the_page_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = write_contest(tmp_path / "old", "x", seeds=1, score=10.0, level=LEVELS[0])
    (path,) = out.glob("*/seed-0/result.json")
    path.write_text(path.read_text().replace(rom_hash(GAME), "0" * 40))
    (path.parent / "best.bk2").touch()
    main([str(out), "--out", str(tmp_path / "r.html")])
    text = (tmp_path / "r.html").read_text()
    Checker(text)
    said = f"it was played with another ROM of {GAME} (000000000000)"
    assert f"No film of {LEVELS[0]}: {said}" in text and "<video" not in text
    assert f"no film of {GAME}:{LEVELS[0]}: {said}" in capsys.readouterr().err


def test_states_of_the_same_name_are_shown_with_their_games(tmp_path: Path) -> None:
    folders = [
        write_contest(tmp_path / game, "x", seeds=1, score=score, level=LEVELS[0], game=game)
        for game, score in ((GAME, 5000.0), ("Other-v0", 100.0))
    ]
    write_contest(folders[0], "x", seeds=1, score=5000.0, level=LEVELS[1])
    main([*map(str, folders), "--out", str(tmp_path / "r.html"), "--no-films"])
    text = (tmp_path / "r.html").read_text()
    table = text[text.index('id="levels"') :].partition("</table>")[0]
    rows = re.findall('<tr><th scope="row">([^<]+)</th>', table)
    assert rows == [f"{GAME}:{LEVELS[0]}", LEVELS[1], f"Other-v0:{LEVELS[0]}"]
    data = re.findall(r'"levels": (\{[^}]*\})', text)
    assert [set(json.loads(levels)) for levels in data[:2]] == [set(rows[:2]), set(rows[2:])]


def test_curve_is_the_mean_of_the_episodes_that_ended_shortly_before() -> None:
    rows = {
        "step": np.array([30.0, 40.0, 100.0]),
        "r": np.array([10.0, 30.0, 7.0]),
        "complete": np.array([1.0, 1.0, 0.0]),
    }
    x = np.array([0.0, 34.0, 40.0, 80.0, 100.0])
    early = curve(rows, x, end=50)
    assert np.array_equal(early, [np.nan, 10.0, 30.0, 30.0, np.nan], equal_nan=True)
    assert curve(rows, x, end=100)[2:].tolist() == [30.0, 30.0, 30.0]  # the last was cut: left out
    assert np.isnan(curve({}, x, end=100)).all()


def test_level_without_an_ended_episode_leaves_the_mean_of_the_others(tmp_path: Path) -> None:
    out = write_contest(tmp_path / "a", "x", seeds=1, score=1000.0)
    path = next(out.glob(f"*{LEVELS[0]}")) / "seed-0" / "episodes.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    (entry,) = read_entries([out])
    other = entry.curves[f"{GAME}:{LEVELS[1]}", 0]
    assert np.isfinite(other[-1])
    assert np.array_equal(mean_curve(entry, 0, None).y, other, equal_nan=True)
    nothing = mean_curve(entry, 0, f"{GAME}:{LEVELS[0]}")
    assert "x has no ended episode" in line_chart([nothing], title="T", x_label="steps")
    path.unlink()
    with pytest.raises(UserError, match="cannot read"):
        read_entries([out])


def test_progress_falls_into_twentieths() -> None:
    shares = progress_shares(np.array([0.0, 0.049, 0.5, 1.0]))
    assert (shares[0], shares[10], shares[19]) == (0.5, 0.25, 0.25)
    assert progress_shares(np.zeros(0)).sum() == 0


def test_references_of_levels_that_are_not_known_are_left_out(tmp_path: Path) -> None:
    out = write_contest(tmp_path / "a", "x", seeds=1, score=1.0)
    assert set(read_references(read_entries([out]))) >= {
        f"{name} (reference)" for name in ("random", "hold-right", "run-and-jump", "oracle")
    }
    write_contest(tmp_path / "a", "x", seeds=1, score=1.0, level="Nowhere.Act1")
    assert read_references(read_entries([out])) == {}


def test_references_are_not_those_of_another_cartridge(tmp_path: Path) -> None:
    out = write_contest(tmp_path / "a", "x", seeds=1, score=1.0)
    for path in out.glob("*/seed-*/result.json"):
        path.write_text(path.read_text().replace("BrambleDash-", "BrambleDash7-"))
    assert read_references(read_entries([out])) == {}


def test_labels_differ_where_folders_have_the_same_name(tmp_path: Path) -> None:
    folders = [
        write_contest(tmp_path / at / "run", "rainbow", seeds=1, score=score)
        for at, score in (("a", 2000.0), ("b", 1000.0))
    ]
    labels = [entry.label for entry in read_entries(folders)]
    assert labels == [f"rainbow [{folder}]" for folder in folders]


def test_ticks_are_round_and_cover_the_values() -> None:
    assert nice_ticks(0.0, 9321.0) == [0, 2000, 4000, 6000, 8000, 10000]
    assert nice_ticks(-120.0, 300.0) == [-200, -100, 0, 100, 200, 300]


def test_chart_breaks_where_there_is_no_value() -> None:
    nan = np.nan
    x = np.arange(5.0)
    drawn = line_chart(
        [Curve("a", 0, x, np.array([nan, 1.0, 2.0, nan, 3.0]))], title="T", x_label="steps"
    )
    (d,) = re.findall(r'class="line c0" d="([^"]+)"', drawn)
    assert (d.count("M"), d.count("L")) == (2, 1)
    assert "a ends at 3" in drawn


def test_lines_of_many_agents_differ() -> None:
    assert len({stroke(number) for number in range(32)}) == 32


def test_folder_without_a_contest_is_a_mistake_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folders, words in (([str(tmp_path)], "holds no results"), ([], "no folder to report on")):
        with pytest.raises(SystemExit) as stop:
            main([*folders, "--out", str(tmp_path / "r.html")])
        assert stop.value.code == 2
        assert words in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
