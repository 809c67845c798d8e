import json

import cv2
import pytest

from retro_agents.games.retro.references import REFERENCES
from retro_agents.judging.score import Episode
from scripts.demo import AFTER, NET, SEARCH, SHIPPED, DemoConfig, main, prepare, verdict


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--runs", "{file}/runs"], "cannot write"),
        (["--level", "BrambleDash-Genesis-v0:Nowhere.Act1", "--runs", "{folder}"], "no state"),
        (["--level", "Airstriker-Genesis-v0:Level1", "--runs", "{folder}"], "no scenario"),
        (["--level", "BrambleWood.Act1", "--runs", "{folder}"], "learned on it"),
        (["--agent", "nowhere", "--runs", "{folder}"], "no checkpoint at nowhere"),
        (["--search-step", "3"], "did you mean '--search-steps'?"),
        (["--search-steps", "0"], "--search-steps"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(monkeypatch, refused, arguments, says, tmp_path):
    (tmp_path / "file").write_text("")
    places = {"file": tmp_path / "file", "folder": tmp_path / "runs"}
    words = [argument.format(**places) for argument in arguments]
    monkeypatch.setattr("sys.argv", ["demo.py", *words])
    assert says in refused(main)
    assert not (tmp_path / "runs").exists()


def test_what_is_given_wins_over_quick_budgets(tmp_path):
    file = tmp_path / "demo.yaml"
    file.write_text("search_steps: 200000\n")
    words = ["--quick", "--episodes", "20", "--config", str(file)]
    config = prepare([*words, "--runs", str(tmp_path)])[0].config
    assert config.search_steps == DemoConfig().search_steps == 200_000
    assert config.episodes == DemoConfig().episodes == 20


def test_verdict_says_what_the_figures_say(tmp_path):
    demo, _ = prepare(["--runs", str(tmp_path)])

    def played(*returns: float) -> list[Episode]:
        return [Episode(str(demo.level), r, 10, 0.1, False) for r in returns]

    for name in (*REFERENCES, SHIPPED):
        demo.played[name] = played(10.0, 20.0)
    demo.played["run-and-jump"] = played(100.0, 110.0, 120.0)
    demo.played[NET] = played(*[5.0] * 10, *[100.0] * 20, *[600.0] * 10, 9_999.0)
    demo.ended[NET] = 40  # and one was cut off by the last step
    demo.played[SEARCH] = played(1000.0, 1010.0, 1020.0)
    said = verdict(demo)
    assert "+900 points relative to run-and-jump" in said and "too few" not in said
    assert "frozen, has 15." in said  # which may have learned on any level
    ends = "began with 5 and ended with 600, the means of the first and the last 10 of its 40 whole"
    assert ends in said
    demo.ended[NET] = 0  # a run too short for one episode
    assert "nan" not in verdict(demo) and "41 unfinished episodes" in verdict(demo)
    demo.played[SEARCH] = played(0.0, 100.0)
    said = verdict(demo)
    assert "-60 points relative to run-and-jump" in said and "too few to tell" in said
    demo.played[SEARCH] = played(1000.0)
    assert "(no interval, over" in verdict(demo) and "nan" not in verdict(demo)


@pytest.mark.slow
def test_a_tiny_demo_makes_all_its_files_and_keeps_earlier_ones(tmp_path, monkeypatch, capsys):
    (tmp_path / "demo-001").mkdir()
    (tmp_path / "demo-001" / "result.json").write_text("mine")
    monkeypatch.setattr("scripts.demo.PATIENCE", 4)  # seconds: the films are short,
    monkeypatch.setattr("retro_agents.judging.film.SCALE", 1)  # small,
    for where in ("scripts.demo", "retro_agents.judging.film"):
        monkeypatch.setattr(f"{where}.SMOOTH", 4)  # and jerk
    steps = ["--search-steps", "1000", "--net-steps", "1024", "--episodes", "2"]
    steps += ["--level", "ClockTower.Act4"]  # where nobody comes far
    monkeypatch.setattr("sys.argv", ["demo.py", "--quick", "--runs", str(tmp_path), *steps])
    main()
    said = capsys.readouterr().out
    folder = tmp_path / "demo-002"
    assert (tmp_path / "demo-001" / "result.json").read_text() == "mine"
    result = json.loads((folder / "result.json").read_text())
    shipped = f"ppo2, {SHIPPED}"
    labels = [*REFERENCES, shipped, SEARCH, NET, AFTER]
    rows = {row["label"]: row for row in result["scores"]}
    assert list(rows) == labels
    assert rows[SEARCH]["steps"] == 1000
    assert all(rows[label]["episodes"] == 2 for label in (*REFERENCES, shipped, AFTER))
    assert all(label in said for label in labels) and result["verdict"] in said
    assert (folder / "curve.png").is_file()
    for name in ("before.mp4", "film.mp4"):
        assert cv2.VideoCapture(str(folder / name)).get(cv2.CAP_PROP_FRAME_COUNT) > 10
    assert said.index("before.mp4") < said.index("Learning: JERK")
