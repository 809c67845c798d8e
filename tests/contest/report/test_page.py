"""The report, from made-up contests and one real film, in a browser where there is one."""

import base64
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from statistics import fmean

import numpy as np
import pytest

from retro_agents.contest.entries import runs_of
from retro_agents.contest.report import contests
from retro_agents.contest.report.__main__ import main
from retro_agents.contest.report.contests import mean_curve, read_entries, read_references
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.games.retro.make import make_env
from tests.contest.made_up import GAME, LEVELS, write_contest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
VOID = {"meta", "link", "br", "img", "input", "source"}


class Checker(HTMLParser):
    """Tags that open and close in order; what the page would load; its text; its tables' cells."""

    def __init__(self, text):
        super().__init__()
        self.open, self.loads, self.words, self.tables = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.rows = self.tables.setdefault(str(dict(attrs)["id"]), [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
        self.loads += [v or "" for name, v in attrs if name in ("src", "href", "poster")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += f" {data}"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
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


def test_page_is_whole_loads_nothing_and_shows_scores_references_and_a_film(report):
    text = report.read_text()
    found = Checker(text)
    assert all(loaded.startswith("data:") for loaded in found.loads)
    assert "Two <agents>" in found.words and "mine:<b>&play" in found.words
    agents = [row[0].split()[0] for row in found.tables["leaderboard"][1:]]
    assert agents.index("oracle") < agents.index("mine:<b>&play") < agents.index("random")
    assert "random (reference)" not in text  # it has played itself
    offered = text[text.index('id="film-level"') :].partition("</select>")[0]
    assert re.findall("<option>(.*)</option>", offered) == [LEVELS[0]]  # no level without a film
    (video,) = re.findall(r'src="data:video/mp4;base64,([^"]+)"', text)
    assert base64.b64decode(video)[4:8] == b"ftyp"
    (poster,) = re.findall(r'poster="data:image/jpeg;base64,([^"]+)"', text)
    assert base64.b64decode(poster)[:2] == b"\xff\xd8"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [390, 1200])
def test_browser_shows_the_comparison_and_nothing_too_wide(report, tmp_path, width):
    """Headless Chromium runs the page's script, in a frame as wide as a phone or a desk."""
    outer = tmp_path / "outer.html"
    inner = json.dumps(report.read_text()).replace("</", "<\\/")
    outer.write_text(
        f"<iframe id=f style='width:{width}px;height:900px;border:0'></iframe><pre id=out></pre>"
        f"<script>f.onload = () => {{ const d = f.contentDocument; out.textContent = 'OUT ' + "
        "[d.documentElement.scrollWidth, d.querySelectorAll('#duels tbody tr').length, "
        "d.querySelector('#verdict').textContent, hover(d)].join('|') + ' END'; };"
        "const hover = (d) => { const chart = d.querySelector('[data-hover] svg');"
        "const box = chart.getBoundingClientRect(), clientX = box.left + 0.999 * box.width;"
        "chart.dispatchEvent(new f.contentWindow.PointerEvent('pointermove', {clientX}));"
        "return d.querySelector('[data-hover] output').textContent; };"
        f"f.srcdoc = {inner};</script>"
    )
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000"]
    done = subprocess.run([*command, outer.as_uri()], capture_output=True, text=True, check=True)
    found = re.search(r">OUT (\d+)\|(\d+)\|(.*?)\|(.*?) END", done.stdout)
    assert found is not None, done.stderr
    assert int(found[1]) <= width
    assert int(found[2]) == len(LEVELS)
    assert "is better on 2 of 2 levels" in found[3]
    assert re.fullmatch(r"1,000 steps: mine:&lt;b&gt;&amp;play [45],\d{3}, random \d{3}", found[4])


def page_of(folders, out, *flags):
    main([*map(str, folders), *flags, "--out", str(out), "--no-films"])
    return out.read_text()


def test_what_cannot_be_compared_is_said(folders, tmp_path):
    one = write_contest(tmp_path / "one", "mine", seeds=1, score=10.0, level=LEVELS[0])
    text = page_of([folders[0], one], tmp_path / "r.html")
    assert "different levels" in text and "mine [one]" in text
    assert "different levels" not in page_of([one], tmp_path / "r.html")
    for path in folders[1].glob("*/seed-0/*"):
        text = path.read_text().replace(rom_hash(GAME), "0" * 40)
        path.write_text(text.splitlines()[0] + "\n" if path.suffix == ".csv" else text)
    text = page_of(folders, tmp_path / "r.html")
    Checker(text)
    assert "different ROMs" in text
    assert "episodes of yours got: no episode has ended" in text
    assert read_references(read_entries(folders[:1])) and not read_references(read_entries(folders))


def test_agents_with_other_numbers_of_steps_are_ranked_apart(tmp_path):
    much = write_contest(tmp_path / "much", "much", seeds=1, score=5000.0)
    little = write_contest(tmp_path / "little", "little", seeds=1, score=9000.0)
    facts = json.loads((much / "contest.json").read_text())
    (much / "contest.json").write_text(json.dumps({**facts, "timesteps": 2000}))
    text = page_of([much, little], tmp_path / "r.html")
    heads = [row[0].split()[0] for row in Checker(text).tables["leaderboard"][1:]]
    order = [head for head in heads if head in ("2,000", "much", "1,000", "little")]
    assert order == ["2,000", "much", "1,000", "little"]
    assert text.count('class="best"') == 2 * len(LEVELS) and "different numbers of steps" in text


def test_an_agent_that_leaves_while_its_mean_is_high_ranks_below_those_that_stay(folders, tmp_path):
    (path,) = folders[1].glob(f"*{LEVELS[0]}/seed-0/result.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"limits": {"timesteps": 1000}}))
    for path in folders[0].glob("*/seed-*/result.json"):  # the better ones
        left = {"steps": 500, "limits": {"timesteps": 1000}, "mean_return": 5000.0}
        path.write_text(json.dumps(json.loads(path.read_text()) | left))
    text = page_of(folders, tmp_path / "r.html")
    ranks = [row[0] for row in Checker(text).tables["leaderboard"][1:] if "seed" in row[0]]
    assert [rank.split()[0] for rank in ranks] == ["yours", "mine"]
    assert "Incomplete : 6 of 6 runs did not play all their steps" in " ".join(ranks[1].split())
    assert text.count('class="best"') == len(LEVELS)
    _, left = entries = read_entries(folders)
    ends = [curve.x[np.isfinite(curve.y)][-1] for curve in (mean_curve(left, 1, None),)]
    assert [entry.label for entry in entries] == ["yours", "mine"] and ends == [500.0]


def test_the_way_of_playing_is_said(folders, tmp_path):
    path = folders[0] / "contest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"play": "best"}))
    assert page_of(folders, tmp_path / "r.html").count("--play best") == 1


def test_a_folder_in_the_pages_place_is_refused_before_the_films(
    folders, tmp_path, refused, monkeypatch
):
    monkeypatch.setattr(contests, "best_films", pytest.fail)
    assert "is a folder" in refused(main, [str(folders[0]), "--out", str(tmp_path)])


def test_stored_results_stand_beside_a_contest_on_its_levels(tmp_path):
    mine = write_contest(tmp_path / "mine", "mine", seeds=2, score=5000.0, level=LEVELS[1])
    stored = ["random", "jerk-hybrid"]
    text = page_of([mine], tmp_path / "r.html", "--beside", *stored)
    head, row = Checker(text).tables["levels"]
    for name in stored:
        mean = fmean(runs_of(name)[f"{GAME}:{LEVELS[1]}"].values())
        cell = row[[cell.strip() for cell in head].index(f"{name} (stored)")]
        assert cell.split()[0] == f"{mean:,.0f}"
    assert "different levels" not in text
    assert "episodes of mine got" in text and "episodes of random (stored) got" not in text


@pytest.mark.parametrize(
    ("beside", "says"),
    [
        ("jerk-hybri", "did you mean 'jerk-hybrid'"),
        ("{mine}/contest.json", "is not a contest's result"),
        ("random", "none of the levels"),
        ("random,jerk-hybrid", "no stored result"),
        ("", "no stored result"),
        ("no.json", "no stored result 'no.json'"),
        ("{mine}", "expected one of: hold-right"),
        ("{mine}/cut.json", "cannot read"),
        ("{mine}/list.json", "is not a result"),
        ("{mine}/empty.json", "has no level that was played"),
        ("{mine}/job.json", "is not a contest's result"),
    ],
)
def test_what_cannot_stand_beside_a_contest_is_one_line(beside, says, tmp_path, refused):
    mine = write_contest(tmp_path / "mine", "mine", seeds=1, score=1.0, level="Nowhere.Act1")
    jobs = ("empty", '{"agent": {}, "jobs": []}'), ("job", '{"agent": {}, "jobs": [{"level": 3}]}')
    for name, text in (("cut", "{"), ("list", "[]"), *jobs):
        (mine / f"{name}.json").write_text(text)
    words = [str(mine), "--beside", beside.format(mine=mine), "--out", str(tmp_path / "r.html")]
    assert says in refused(main, words)


def test_recording_of_another_rom_is_not_filmed_and_the_page_says_why(tmp_path, capsys):
    out = write_contest(tmp_path / "old", "x", seeds=1, score=10.0, level=LEVELS[0])
    (path,) = out.glob("*/seed-0/result.json")
    path.write_text(path.read_text().replace(rom_hash(GAME), "0" * 40))
    (path.parent / "best.bk2").touch()
    main([str(out), "--out", str(tmp_path / "r.html")])
    text = (tmp_path / "r.html").read_text()
    said = f"it was played with another ROM of {GAME} (000000000000)"
    assert f"No film of {LEVELS[0]} (x): {said}" in text and "<video" not in text
    assert f"no film of {GAME}:{LEVELS[0]}: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("contest.json", json.dumps({"planned": [[1]]})),
        ("contest.json", json.dumps({"name": 3})),
        ("contest.json", json.dumps({"timesteps": 10**30})),
        ("contest.json", "[" * 100_000),
        *(("result.json", json.dumps({"steps": value})) for value in (-1, "x", 1e400)),
        ("episodes.csv", "step,r\nx,y\n1,2\n"),
        ("episodes.csv", "step,r,complete,progress\n1,2,x,0\n"),
        ("episodes.csv", b"step\xff\n\xff\n1\n"),
    ],
)
def test_a_damaged_contest_is_one_line(file, text, tmp_path, refused):
    folder = write_contest(tmp_path / "a", "mine", seeds=1, score=5000.0)
    path = next(folder.rglob(file))
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(main, [str(folder), "--out", str(tmp_path / "r.html")])


@pytest.fixture
def folders(tmp_path):
    return [
        write_contest(tmp_path / "good", "mine", seeds=3, score=5000.0),
        write_contest(tmp_path / "weak", "yours", seeds=1, score=900.0),
    ]


def test_scores_are_the_means_of_the_episodes(folders, tmp_path):
    text = page_of(folders, tmp_path / "r.html")
    tables = Checker(text).tables
    means = {row[0].split()[0]: row[1].split()[0] for row in tables["leaderboard"][1:]}
    (data,) = re.findall(r'id="scores">(.*?)</script>', text)
    scores = {one["label"]: one["levels"] for one in json.loads(data)}
    for name, folder in zip(("mine", "yours"), folders, strict=True):
        expected = {}
        for level in LEVELS:
            files = sorted(folder.glob(f"*{level}/seed-*/episodes.csv"))
            rows = [file.read_text().splitlines()[1:] for file in files]
            returns = [[float(row.split(",")[2]) for row in each] for each in rows]
            expected[level] = np.mean(returns)
        assert means[name] == f"{np.mean(list(expected.values())):,.0f}"
        assert scores[name] == pytest.approx(expected)
