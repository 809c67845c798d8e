"""Results are JSON, whole or not there."""

import json
import math
import shlex
import sys

import numpy as np
import pytest

from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT, commit, installed, read_result, store, write_result

STORED = sorted(ROOT.glob("*/results/*.json"))


def test_what_is_not_known_is_null(tmp_path):
    store(tmp_path / "a.json", {"rows": [{"low": math.nan, "all": (1.5, math.nan)}]})
    assert read_result(tmp_path / "a.json")["rows"] == [{"low": None, "all": [1.5, None]}]


def test_the_stored_command_can_be_given_again(tmp_path, monkeypatch):
    words = ["--only", "+ policy", "--levels", "A:B"]
    monkeypatch.setattr(sys, "argv", ["some", *words])
    write_result(tmp_path / "some.json", {}, module="lab.benchmarks.some")
    stored = read_result(tmp_path / "some.json")["command"]
    assert shlex.split(stored) == ["python", "-m", "lab.benchmarks.some", *words]


def test_a_package_that_is_not_installed_has_no_version():
    assert installed("numpy") == np.__version__
    assert installed("no-such-package") is None


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
    assert read_result(tmp_path / "some.json") == {"rows": []}


@pytest.mark.parametrize("content", [None, "no json", "[]"])
def test_what_is_no_result_is_refused(content, tmp_path):
    if content:
        (tmp_path / "a.json").write_text(content)
    with pytest.raises(UserError, match=r"a\.json.*expected a result\.json"):
        read_result(tmp_path / "a.json")


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_stored_results_are_json_by_the_standard(path):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    assert json.loads(path.read_text(), parse_constant=refuse)
