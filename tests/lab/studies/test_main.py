"""`python -m lab.studies`: the project's studies, and a tiny one from its table to its result."""

import importlib
import json

import pytest

from lab.studies.__main__ import HERE, StudyConfig, asked, main, with_stored
from lab.studies.play import PlayConfig
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import read_result
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import flat, preset_names, to_dict
from retro_agents.sweeps.study import REFERENCE, Kind, Study, read_study

GAME = "BrambleDash-Genesis-v0"
TINY = f"""
about: Two kinds that need no net.
levels: {GAME}:BrambleWood.Act3
steps: 120
kinds:
  played/random: {{run: lab.studies.play, flags: --agent random --episode-steps 50}}
  searched/before: {{run: jerk.train, flags: --preset baseline --episode-steps 50}}
compare:
  - [searched/before, played/random]
"""
STUDIES = {name: read_study(name, HERE) for name in preset_names(HERE)}


def parsed(study, kind):
    """The settings that a kind's module makes of its flags."""
    found = study.kinds[kind]
    words = [REFERENCE.sub("some", word) for word in found.words]
    if found.run == "lab.studies.play":
        return to_dict(parse_command(PlayConfig, words, command="play"))
    run = "ppo2.train" if found.run == "lab.benchmarks.sb3_ppo" else found.run  # the same flags
    return flat(to_dict(importlib.import_module(run).parse(words)))


@pytest.mark.parametrize("name", STUDIES)
def test_every_kind_has_flags_that_its_module_takes(name):
    study = STUDIES[name]
    for kind, found in study.kinds.items():
        assert parsed(study, kind)
        assert importlib.util.find_spec(found.run) is not None
        for other in study.needs(kind):
            assert study.needed(study.cells(kind)[0], other)
    stored = HERE / "results" / f"{name}.json"
    assert not stored.exists() or read_result(stored)["kinds"].keys() & study.kinds


def test_both_ppos_have_the_same_flags_and_pretrained_nets_fit_what_starts_from_them():
    study = STUDIES["ppo2"]
    words = {name: kind.words for name, kind in study.kinds.items()}
    assert words["adapt/scratch"] == words["adapt/sb3-scratch"]
    assert words["adapt/joint"][:-1] == words["adapt/sb3-joint"][:-1]
    joint, adapting, rainbow = (
        parsed(study, name) for name in ("pretraining/joint", "adapt/joint", "rainbow/encoder")
    )
    assert all(adapting[name] == joint[name] for name in ("encoder", "hidden"))
    assert rainbow["encoder"] == joint["encoder"]


def test_tiny_study_is_run_told_and_gone_on_with(tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(TINY)
    words = [str(tmp_path / "tiny.yaml"), "--out", str(tmp_path / "out")]
    main([*words, "--seeds", "2", "--only", "played"])
    main(words)
    said = capsys.readouterr().out
    assert "1 runs to do" in said and "| before − random |" in said
    assert (tmp_path / "out" / "result.md").read_text() in said
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert set(result["kinds"]) == {"played/random", "searched/before"}
    random = result["kinds"]["played/random"]
    assert set(random["runs"]["BrambleWood.Act3"]) == {"0"}  # of one seed now
    assert random["steps"] == 120 and random["episodes"] == 3  # the last one is cut
    main([*words, "--only"])
    assert "0 runs to do" in capsys.readouterr().out


def test_what_is_stored_stays_where_it_is_not_played_anew(tmp_path):
    names = ("one", "two", "three")
    study = Study(levels=f"{GAME}:SnowRidge.Act1", kinds={name: Kind(run=name) for name in names})

    def kinds(score=1.0, **runs):
        seeds = {name: dict.fromkeys(map(str, range(k)), score) for name, k in runs.items()}
        return {name: {"made": study.made(name), "runs": {"a": seeds[name]}} for name in runs}

    stored, here = tmp_path / "it.json", kinds(one=1)
    assert with_stored(here, stored, study) == here  # nothing is stored yet
    origin = {"command": "before", "commit": "a", "machine": {"cores": 2}}
    gone = {"gone": {"made": {}, "runs": {}}}
    stored.write_text(json.dumps({**origin, "kinds": kinds(one=2, three=1) | gone}))
    both = with_stored(kinds(two=1, one=2), stored, study)
    assert list(both) == ["one", "two", "three"]
    assert both["three"] == {"origin": origin, **kinds(three=1)["three"]}
    assert both["one"] == {"origin": origin, **kinds(one=2)["one"]}  # nothing of it is new
    assert "origin" not in both["two"]
    assert "origin" not in with_stored(kinds(two=1, one=3), stored, study)["one"]
    stored.write_text(json.dumps({"command": "after", "commit": "b", "machine": {}, "kinds": both}))
    assert with_stored(kinds(two=1), stored, study)["three"]["origin"] == origin  # the first one
    assert with_stored(kinds(one=1), stored, study)["one"] == both["one"]  # which has this run
    with pytest.raises(UserError, match="has runs of one that are not in --out"):
        with_stored(kinds(2.0, one=1), stored, study)
    study.kinds["one"] = Kind(run="one", together=True)  # of which a level ended no episode
    more = {"made": study.made("one"), "runs": {"a": {"0": 1.0}, "b": {"0": 1.0}}}
    stored.write_text(json.dumps({**origin, "kinds": {"one": more}}))
    less = {"one": {**more, "runs": {"a": {"0": 2.0}}}}
    assert with_stored(less, stored, study) == less
    stored.write_text(json.dumps({**origin, "kinds": kinds(three=1)}))
    study.kinds["three"] = Kind(run="three", steps=5)
    with pytest.raises(UserError, match="three was made with other settings; play it too"):
        with_stored(kinds(two=1, one=2), stored, study)


def test_runs_that_could_not_be_stored_are_not_made(tmp_path, monkeypatch, refused):
    monkeypatch.setattr("lab.studies.__main__.HERE", tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "results").mkdir()
    more = {"made": {}, "runs": {"BrambleWood.Act3": {"0": 1.0, "1": 1.0}}}
    stored = json.dumps({"kinds": {"played/random": more}})
    (tmp_path / "results" / "tiny.json").write_text(stored)
    words = ["tiny", "--write", "--out", str(tmp_path / "out")]
    assert "has runs of played/random that are not in --out" in refused(main, words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["transfer", "--out", "FILE"], "cannot write"),
        (["nothing"], "no study 'nothing'"),
        (["tables", "--jobs", "3"], "tables has no flags"),
        (["transfer", "--only", "held"], "no kind 'held'"),
        (["es", "--inputs", "begin=a"], "study es has no input 'begin': start"),
        (["es", "--inputs", "start=/no/such", "--only", "search"], "no start at /no/such; give"),
        (["jerk-search", "--steps", "1000"], "--steps has no effect: these kinds of jerk-search"),
        (["FILE.yaml", "--flags=--seed=7"], "--flags --seed=7: the study itself sets that"),
        (["FILE.yaml", "--write"], "--write stores the project's own studies"),
    ],
)
def test_mistakes_are_one_line_before_any_run(words, says, tmp_path, refused):
    (tmp_path / "FILE").write_text("")
    (tmp_path / "FILE.yaml").write_text(TINY)
    words = [str(tmp_path / word) if word.startswith("FILE") else word for word in words]
    words += [] if "--out" in words else ["--out", str(tmp_path / "out")]
    assert says in refused(main, words)


def test_an_evaluations_folder_is_refused_and_left_as_it_is(tmp_path, refused):
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "result.json").write_text("{}")
    words = [str(tmp_path / "tiny.yaml"), "--only", "--out", str(tmp_path)]
    assert "already holds an evaluation; give another --out" in refused(main, words)
    assert (tmp_path / "result.json").read_text() == "{}"


def test_further_flags_are_read_as_in_a_shell():
    study = asked(StudyConfig("transfer", flags="--init 'my runs/a'"))
    assert all(kind.words[-2:] == ["--init", "my runs/a"] for kind in study.kinds.values())
