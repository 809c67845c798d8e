"""Cells of a study, what they build on, and what is wrong in a study's file."""

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.sweeps import study as studies
from retro_agents.sweeps.study import read_study, shipped_weights
from tests.sweeps.studies import STUDY, changed


def test_cells_come_seed_by_seed_and_know_what_they_build_on():
    acts = ("RustCavern.Act2", "SkyIsles.Act2")
    names = [f"group/after/{act}-{seed}" for seed in (0, 1) for act in acts]
    assert [cell.name for cell in STUDY.cells("group/after")] == names
    (before,) = STUDY.cells("before")
    last = STUDY.cells("group/curved")[-1]
    assert before.name == "before/all-0"
    assert STUDY.needed(last, "before") == before
    assert STUDY.needed(last, "group/plain").name == "group/plain/SkyIsles.Act2-1"


def test_a_level_that_is_given_twice_is_played_once():
    twice = changed(STUDY, levels=f"{STUDY.levels},{STUDY.levels}")
    assert twice.cells("group/plain") == STUDY.cells("group/plain")


def test_kinds_are_chosen_by_name_or_group():
    assert STUDY.chosen(["group"]) == ["group/plain", "group/after", "group/curved"]
    assert STUDY.chosen(["group/after", "before"]) == ["before", "group/after"]
    assert STUDY.chosen([""]) == list(STUDY.kinds)
    assert STUDY.chosen([]) == []
    with pytest.raises(UserError, match=r"no kind 'group/aftr'; did you mean 'group/after'\?"):
        STUDY.chosen(["group/aftr"])


def test_runs_are_told_apart_by_settings_inputs_and_roms_but_not_by_their_place():
    cell = STUDY.cells("group/after")[0]
    made = STUDY.made_with(cell)
    assert made["flags"] == "--init <before>/x --b runs"
    assert len(made["roms"]["BrambleDash-Genesis-v0"]) == 40
    assert changed(STUDY, inputs={"start": "else"}).made_with(cell) != made
    assert changed(STUDY, steps=21).made_with(cell) != made


def test_runs_are_told_apart_by_the_shipped_weights_that_they_name(monkeypatch, tmp_path):
    named = shipped_weights("jerk.train", ["--policy", "ppo2"])
    assert [*named] == ["ppo2"] and shipped_weights("a.b", ["--init", "ppo2/pretrained"]) == named
    assert shipped_weights("jerk.train", ["--preset", "hybrid"]) == named
    for other in (["--init=ppo2"], ["--preset=hybrid"]):
        assert shipped_weights("jerk.train", other) == named
    assert shipped_weights("jerk.train", ["--preset", "recovering"]) == {}
    assert shipped_weights("es.train", []) == named  # which it starts from by default
    assert shipped_weights("es.train", ["--init="]) == {}
    newer = tmp_path / "step-000000001"
    newer.mkdir()
    (newer / "meta.json").write_text("{}")
    monkeypatch.setattr(studies, "shipped", lambda name: tmp_path if name == "ppo2" else None)
    assert shipped_weights("jerk.train", ["--preset", "hybrid"]) != named


def test_a_package_that_is_no_agent_of_this_project_needs_no_config(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert shipped_weights("mine.train", []) == {}


def test_acts_of_one_name_in_two_games_are_refused(monkeypatch):
    monkeypatch.setattr("retro_agents.sweeps.study.names_of", lambda text: text.split(","))
    both = "BrambleDash-Genesis-v0:RustCavern.Act2,Other-Genesis-v0:RustCavern.Act2"
    with pytest.raises(UserError, match="acts of one name"):
        changed(STUDY, "group/plain", levels=both).cells("group/plain")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot read study"),
        ("kinds: [", "cannot read study"),
        ("kinds: {ä: {}}".encode("latin-1"), "cannot read study"),
        ("kinds: {a: {rum: x}}", "unknown field `rum` - at `.*kinds"),
        ("kind: {}", "unknown field `kind`"),
        ("kinds: {a: {run: x, flags: --widths 4,4}}", "kinds.*; quote flags that have commas"),
        ("kinds: {a: {flags: --b 1}}", "missing required field `run` - at"),
        ("kinds: {a: {run: x, flags: --init <b>}}", "no kind or input 'b'"),
        ("kinds: {a: {run: x}}\ncompare: [[a, b]]", "no kind or input 'b'"),
    ],
)
def test_what_is_wrong_in_a_study_is_one_line(content, says, tmp_path):
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=says) as raised:
        read_study(str(path), tmp_path)
    assert r"\n" not in str(raised.value)  # as which a UserError shows a line break


def test_a_file_is_found_by_its_name_in_a_folder(tmp_path):
    with pytest.raises(UserError, match=r"no study 'mine'; give a FILE\.yaml"):
        read_study("mine", tmp_path / "nothing")
    (tmp_path / "mine.yaml").write_text("about: mine")
    assert read_study("mine", tmp_path).about == "mine"
    with pytest.raises(UserError, match=r"no study 'mnie'; did you mean 'mine'\?"):
        read_study("mnie", tmp_path)
