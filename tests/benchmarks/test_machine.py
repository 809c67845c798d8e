"""Results are JSON, whole or not there."""

import json
import math
import shlex
import sys

import pytest

from benchmarks import machine
from benchmarks.machine import RESULTS, commit, store, write_result


def test_what_is_not_known_is_null(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    path = write_result("some", {"rows": [{"low": math.nan, "all": (1.5, math.nan)}]})
    assert json.loads(path.read_text())["rows"] == [{"low": None, "all": [1.5, None]}]


def test_the_stored_command_can_be_given_again(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    words = ["--only", "+ policy", "--levels", "A:B"]
    monkeypatch.setattr(sys, "argv", ["some", *words])
    stored = json.loads(write_result("some", {}).read_text())["command"]
    assert shlex.split(stored) == ["python", "-m", "benchmarks.some", *words]


def test_the_commit_is_this_projects_and_unknown_without_git(tmp_path, monkeypatch):
    here = commit()
    monkeypatch.chdir(tmp_path)
    assert commit() == here != ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == "unknown"


def test_result_that_cannot_be_written_leaves_the_earlier_one(tmp_path):
    store(tmp_path / "some.json", {"rows": []})
    with pytest.raises(ValueError, match="JSON"):
        store(tmp_path / "some.json", {"rows": [math.inf]})
    assert json.loads((tmp_path / "some.json").read_text()) == {"rows": []}


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_stored_results_are_json_by_the_standard(path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    assert json.loads(path.read_text(), parse_constant=refuse)["machine"]
