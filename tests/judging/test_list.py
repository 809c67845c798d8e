import re
import shutil
import sys
from datetime import UTC, datetime, timedelta

import pytest

from retro_agents.experience.episodes import write_episodes
from retro_agents.judging import list as listing
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import save_checkpoint
from retro_agents.run.config import preset_names
from retro_agents.run.folder import RunFolder
from retro_agents.run.provenance import recorded


def test_what_there_is_is_listed(monkeypatch):
    assert len(list(listing.lines("levels", "bramble-test"))) == 11
    assert "BrambleDash-Genesis-v0:BrambleWood.Act1" in listing.lines("levels", "")
    assert any(
        line.split() == ["bramble-train", "47", "levels"] for line in listing.lines("splits", "")
    )
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "stable_retro", None)
        assert any(line.startswith("SonicTheHedgehog") for line in listing.lines("levels", ""))
        assert any(line.startswith("sonic-") for line in listing.lines("splits", ""))
    agents = {line.split()[0]: line for line in listing.lines("agents", "")}
    assert all(f"--init {name}" in agents[name] for name in ("rainbow", "ppo2"))
    assert "--init" not in agents["jerk"]
    presets = preset_names(find("jerk").PRESETS)
    assert f"jerk      {', '.join(presets)}" in listing.lines("presets", "")
    (fast,) = (line for line in listing.lines("presets", "ppo2") if line.startswith("fast "))
    assert "two cores" in fast and len([*listing.lines("presets", "jerk")]) == len(presets)


def test_a_run_says_who_plays_what_and_how_well(tmp_path):
    with recorded(tmp_path, "jerk", env_steps=0):
        (tmp_path / "config.json").write_text('{"run": {"levels": "bramble-train"}}')
        (tmp_path / "episodes.csv").write_text(
            "step,r\n" + "1,900.0\n" * 9 + "2,100.0\n3,200.0\n" * 50
        )
    (line,) = listing.lines("runs", str(tmp_path))
    said = "jerk, bramble-train, no checkpoint, mean return 150, began just now"
    assert line == f"{tmp_path}  {said}"
    (tmp_path / "episodes.csv").write_text("step,r\n1,0.4\n2,0.9\n")
    assert "mean return 0.65," in next(iter(listing.lines("runs", str(tmp_path))))
    began = (tmp_path / "provenance.json").read_text()
    (tmp_path / "provenance.json").write_text(re.sub('"begun": "[^"]*"', '"begun": "soon"', began))
    (line,) = listing.lines("runs", str(tmp_path))
    assert line.endswith("mean return 0.65")
    past = datetime.now(UTC) - timedelta(hours=50)
    assert listing.age(past) == "began 2 days ago"


def test_runs_are_listed_with_how_far_they_are(tmp_path):
    for name in ("a", "b"):
        run = RunFolder.create(tmp_path / name, {"run": {"seed": 1, "timesteps": 4000}})
    save_checkpoint(
        run.checkpoints, agent="none", config={}, counters={"env_steps": 1200}, tensors={}
    )
    write_episodes(tmp_path / "episodes", [])  # a checkpoint, and no run
    RunFolder.create(tmp_path / "a/population/1/checkpoint_000003", {"seed": 1})  # Ray's copy
    save_checkpoint(tmp_path / "b/up", agent="none", config={}, tensors={})
    shutil.move(next((tmp_path / "b/up").iterdir()), tmp_path / "pulled")  # from a hub
    RunFolder.create(tmp_path / "contest" / "Act1" / "seed-0" / "training", {"seed": 1})
    (tmp_path / "contest" / "contest.json").write_text("{}")
    assert list(listing.lines("runs", str(tmp_path))) == [
        f"{tmp_path / 'a'}  no checkpoint",
        f"{tmp_path / 'b'}  saved at 1,200 of 4,000 steps",
    ]
    (one,) = listing.lines("runs", str(tmp_path / "contest"))  # which was asked for
    assert one.endswith("training  no checkpoint")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig"])
def test_a_presets_comment_is_read_in_other_encodings(encoding, tmp_path):
    (tmp_path / "mine.yaml").write_text("# Für two cores. More.\nhidden: 8\n", encoding=encoding)
    assert re.fullmatch("F.r two cores", listing.about_preset(tmp_path / "mine.yaml"))


def test_a_run_whose_returns_are_text_is_listed_without_them(tmp_path):
    RunFolder.create(tmp_path, {"seed": 1})
    (tmp_path / "episodes.csv").write_text("step,r\n1,good\n")
    assert list(listing.lines("runs", str(tmp_path))) == [f"{tmp_path}  no checkpoint"]
