"""`python -m lab.studies`: a tiny study from its table to its result."""

import json
from pathlib import Path
from typing import Any

import pytest

from lab.studies.__main__ import main, with_stored
from retro_agents.ground.errors import UserError
from retro_agents.sweeps.study import Kind, Study, made

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


def test_tiny_study_is_run_told_and_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    (tmp_path / "tiny.yaml").write_text(TINY)
    words = [str(tmp_path / "tiny.yaml"), "--out", str(tmp_path / "out")]
    main([*words, "--seeds", "2", "--only", "played"])
    main(words)
    said = capsys.readouterr().out
    assert "2 runs to do" in said and "| before − random |" in said
    assert (tmp_path / "out" / "result.md").read_text() in said
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert set(result["kinds"]) == {"played/random", "searched/before"}
    random = result["kinds"]["played/random"]
    assert set(random["runs"]["BrambleWood.Act3"]) == {"0"}  # of one seed now
    assert random["steps"] == 120 and random["episodes"] == 3  # the last one is cut
    main([*words, "--only"])
    assert "0 runs to do" in capsys.readouterr().out


def test_what_is_stored_stays_where_it_is_not_played_anew(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    study = Study(levels=f"{GAME}:SnowRidge.Act1", kinds={name: Kind(run=name) for name in names})

    def kinds(**runs: int) -> dict[str, dict[str, Any]]:
        return {
            name: {"made": made(study, name), "runs": {"a": dict.fromkeys(map(str, range(k)), 1.0)}}
            for name, k in runs.items()
        }

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
    with pytest.raises(UserError, match="has runs of one that are not in --out"):
        with_stored(kinds(one=1), stored, study)
    study.kinds["three"] = Kind(run="three", steps=5)
    with pytest.raises(UserError, match="three was made with other settings; play it too"):
        with_stored(kinds(two=1, one=2), stored, study)


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
        (["FILE.yaml", "--write"], "--write stores the project's own studies"),
    ],
)
def test_mistakes_are_one_line_before_any_run(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").write_text("")
    (tmp_path / "FILE.yaml").write_text(TINY)
    words = [str(tmp_path / word) if word.startswith("FILE") else word for word in words]
    with pytest.raises(SystemExit) as stop:
        main([*words, *([] if "--out" in words else ["--out", str(tmp_path / "out")])])
    said = capsys.readouterr()
    assert stop.value.code == 2 and says in said.err
    assert said.err.startswith("error: ") and said.err.count("\n") == 1
    assert not said.out
