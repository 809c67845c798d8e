"""`python -m studies`: a tiny study from its table to its result."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiment.errors import UserError
from studies.__main__ import check_keeps, main
from studies.study import Kind, Study

GAME = "BrambleDash-Genesis-v0"
TINY = f"""
about: Two kinds that need no net.
levels: {GAME}:BrambleWood.Act3
steps: 120
kinds:
  played/random: {{run: studies.play, flags: --agent random --episode-steps 50}}
  searched/before: {{run: jerk.train, flags: --preset baseline --episode-steps 50}}
  searched/engine:
    run: studies.engine
    together: true
    steps: 3000
    flags: --preset mutating
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
    assert set(result["kinds"]) == {"played/random", "searched/before", "searched/engine"}
    random = result["kinds"]["played/random"]
    assert set(random["runs"]["BrambleWood.Act3"]) == {"0"}  # of one seed now
    assert random["steps"] == 120 and random["episodes"] == 3  # the last one is cut
    assert list((tmp_path / "out").glob("*.png"))
    main([*words, "--only"])
    assert "0 runs to do" in capsys.readouterr().out


def test_stored_runs_are_never_replaced_by_fewer(tmp_path: Path) -> None:
    def kinds(**runs: int) -> dict[str, dict[str, Any]]:
        return {name: {"runs": {"a": dict.fromkeys(range(k), 1.0)}} for name, k in runs.items()}

    study, stored = Study(kinds={"one": Kind(), "two": Kind()}), tmp_path / "it.json"
    check_keeps(stored, kinds(one=1), study)  # nothing is stored yet
    stored.write_text(json.dumps({"kinds": kinds(one=2, gone=9)}))
    check_keeps(stored, kinds(one=2, two=1), study)
    for fewer in (kinds(one=1), kinds(two=5)):
        with pytest.raises(UserError, match="has runs of one that are not in --out"):
            check_keeps(stored, fewer, study)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["transfer", "--out", "FILE"], "cannot write"),
        (["nothing"], "no study 'nothing'"),
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
