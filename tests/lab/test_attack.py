import itertools
import json
import os
import random
from unittest.mock import Mock

import pytest

from lab.attack import __main__ as attack
from lab.attack.hostile import changed, harmed, one_line
from lab.attack.sessions import session
from retro_agents.contest.wire.record import Record
from retro_agents.ground.errors import UserError
from retro_agents.run.config import read_file


@pytest.mark.parametrize(("found", "code"), [("", 0), ("a checkpoint", 1)])
def test_what_is_lost_is_counted_stored_and_is_the_exit_code(
    found, code, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(attack, "ATTACKS", {"one": lambda *_: found})
    clock = iter(range(99))
    monkeypatch.setattr(attack.time, "monotonic", lambda: next(clock))
    try:
        attack.main(["--seconds", "4", "--out", str(tmp_path / "counts.json")])
        ended = 0
    except SystemExit as stop:
        ended = stop.code
    result = json.loads((tmp_path / "counts.json").read_text())
    assert ended == code and result["attempts"]["one"] == 2
    assert capsys.readouterr().out == f"2 of one; {2 * code} lost\n"
    assert result["lost"] == [f"one {number}: {found}" for number in range(2) if found]


def test_a_file_that_cannot_be_written_is_refused_before_the_attack(tmp_path, monkeypatch, refused):
    monkeypatch.setattr(attack, "ATTACKS", {"one": lambda *_: pytest.fail("attacked")})
    (tmp_path / "file").touch()
    words = ["--seconds", "4", "--out", str(tmp_path / "file" / "counts.json")]
    assert "cannot write" in refused(attack.main, words)


def test_an_attempt_is_repeated_by_its_number(monkeypatch):
    monkeypatch.setattr(attack, "ATTACKS", {"one": lambda rng, _: str(rng.random())})
    assert attack.attempt("one", 0, 3) == attack.attempt("one", 0, 3) != attack.attempt("one", 0, 4)


def test_an_attempt_that_is_stuck_is_lost(monkeypatch):
    def waits(_, folder):
        os.mkfifo(folder / "file")
        return one_line(lambda: read_file(folder / "file", what="a file"))

    monkeypatch.setattr(attack, "ATTACKS", {"one": waits})
    monkeypatch.setattr(attack, "PATIENCE", 1)
    assert attack.attempt("one", 0, 3) == "StuckError: stuck for 1 s"


def test_only_one_line_is_a_refusal():
    assert one_line(Mock(side_effect=UserError("one line"))) == ""
    assert one_line(Mock(side_effect=KeyError("x"))) == "KeyError: 'x'"
    assert one_line(Mock(side_effect=SystemExit(1))) == "exit code 1"


def test_nearly_all_values_and_bytes_are_changed():
    rng, value, data = random.Random(0), {"a": [1, 2], "b": {"c": "x"}}, bytes(range(99))
    assert sum(repr(changed(rng, value)) != repr(value) for _ in range(100)) > 90
    assert sum(harmed(rng, data) != data for _ in range(100)) > 90


def test_steps_that_were_not_stored_are_noticed(tmp_path, monkeypatch):
    """By the session of the first seed in which a step is played."""
    for seed in itertools.count():
        assert session(random.Random(seed), tmp_path / f"{seed}") == ""
        if json.loads((tmp_path / f"{seed}" / "results" / "result.json").read_text())["steps"]:
            break
    monkeypatch.setattr(Record, "add", lambda *_: None)
    found = (session(random.Random(seed), tmp_path / f"broken-{i}") for i in range(9))
    assert any("0 steps in the table" in said for said in found)  # steps depend on time
