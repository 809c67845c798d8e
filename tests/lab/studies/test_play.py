"""A test of sight as a kind of run, from its files to a study's tables."""

import msgspec
import pytest

from lab.studies.play import main
from lab.studies.report import collect, page
from retro_agents.judging.score import read_episodes
from retro_agents.judging.sight import PLAYS
from retro_agents.sweeps.launcher import left, work
from retro_agents.sweeps.study import Study
from tests.agents.tiny import untrained

GAME = "BrambleDash-Genesis-v0"
LEVELS = [f"{GAME}:BrambleWood.Act3", f"{GAME}:RustCavern.Act2"]


@pytest.fixture
def agent(tmp_path):
    """An untrained agent that sees small pictures."""
    untrained("rainbow").save(tmp_path / "agent")
    return tmp_path / "agent"


def test_a_study_tells_what_its_three_plays_earned(agent, tmp_path, monkeypatch):
    def here(run, *_, **__):
        main(run[run.index("lab.studies.play") + 1 :])
        return 0, 1800.0

    monkeypatch.setattr("retro_agents.sweeps.launcher.ended", here)  # torch takes seconds to import
    flags = f"--sight --agent {agent} --draws --episodes 2"
    kind = {"run": "lab.studies.play", "together": True, "flags": flags}
    values = {"levels": ",".join(LEVELS), "seeds": 2, "steps": 10, "kinds": {"eyes": kind}}
    study, out = msgspec.convert(values, Study), tmp_path / "out"
    work(study, left(study, ["eyes"], out), out, jobs=1, say=print)
    folders = {play: out / "eyes/all-1" / ("" if play == "seeing" else play) for play in PLAYS}
    for folder in folders.values():
        episodes = read_episodes(folder)
        assert sorted(one.level for one in episodes) == sorted(LEVELS * 2)
        assert {one.l for one in episodes} == {10}
    eyes = collect(study, out)["eyes"]
    assert (eyes["episodes"], eyes["steps"]) == (8, 80)  # its own pictures count
    assert eyes["cpu_hours"] == [0.5, 0.5]
    assert "grown" not in eyes  # it learns nothing
    for play in PLAYS[1:]:
        by_level = eyes["sight"][play]
        assert by_level.keys() == eyes["runs"].keys()
        here = [one.r for one in read_episodes(folders[play]) if one.level == LEVELS[0]]
        assert by_level["BrambleWood.Act3"]["1"] == pytest.approx(sum(here) / 2)
    assert "seeing − blind, 95 %" in page({"kinds": {"eyes": eyes}, "compare": []})


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--sight", "--agent", "random"], "no net that acts on what it sees"),
        (["--sight", "--agent", "ppo2"], "already holds a run; give another --run-dir"),
        (["--agent", "random"], "already holds a run; give another --run-dir"),
    ],
)
def test_mistakes_are_one_line_and_a_run_that_is_there_stays(flags, says, tmp_path, refused):
    (tmp_path / "episodes.csv").write_text("mine")
    words = [*flags, "--levels", "bramble-test", "--run-dir", str(tmp_path)]
    assert says in refused(main, words)
    assert (tmp_path / "episodes.csv").read_text() == "mine"
