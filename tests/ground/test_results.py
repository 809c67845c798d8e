"""Results are JSON, whole or not there."""

import json
import math
import os
import shlex
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pytest

from retro_agents.ground import results
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT, commit, installed, read_result, store, write_result

STORED = sorted((ROOT / "lab").glob("*/results/*.json"))


def test_what_is_not_known_is_null_and_a_result_that_cannot_be_written_leaves_the_earlier(tmp_path):
    store(tmp_path / "a.json", {"rows": [{"low": math.nan, "all": (1.5, math.nan)}]})
    found = {"rows": [{"low": None, "all": [1.5, None]}]}
    assert read_result(tmp_path / "a.json") == found
    with pytest.raises(ValueError, match="JSON"):
        store(tmp_path / "a.json", {"rows": [math.inf]})
    assert read_result(tmp_path / "a.json") == found


def test_the_stored_command_can_be_given_again(tmp_path, monkeypatch):
    words = ["--only", "+ policy", "--levels", "A:B"]
    monkeypatch.setattr(sys, "argv", ["some", *words])
    write_result(tmp_path / "some.json", {}, module="lab.benchmarks.some")
    stored = read_result(tmp_path / "some.json")["command"]
    assert shlex.split(stored) == ["python", "-m", "lab.benchmarks.some", *words]


def test_the_commit_is_this_projects_and_unknown_without_git(tmp_path, monkeypatch):
    here = commit()
    monkeypatch.chdir(tmp_path)
    assert commit() == here != ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() == "unknown"
    monkeypatch.setattr(results, "ROOT", tmp_path)  # as where a wheel is installed
    assert commit() == f"version {installed('retro-contest-agents')}"
    assert installed("numpy") == np.__version__
    assert installed("no-such-package") is None


def test_the_commit_is_asked_for_without_a_lock_that_a_killed_run_would_leave(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    (tmp_path / "file").write_text("one")
    own = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*own, "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    index = (tmp_path / ".git/index").read_bytes()
    os.utime(tmp_path / "file", (0, 0))  # git would note the new time
    here = commit()
    assert not here.endswith("+") and (tmp_path / ".git/index").read_bytes() == index
    (tmp_path / "file").write_text("two")
    assert commit() == f"{here}+"


@pytest.mark.parametrize("content", [None, "no json", "[]"])
def test_what_is_no_result_is_refused(content, tmp_path):
    if content:
        (tmp_path / "a.json").write_text(content)
    with pytest.raises(UserError, match=r"a\.json.*expected a result\.json"):
        read_result(tmp_path / "a.json")


def test_stored_results_are_json_by_the_standard():
    refuse = Mock(side_effect=AssertionError)  # nan and inf, which Python's reader takes
    assert len(STORED) > 5
    assert all(json.loads(path.read_text(), parse_constant=refuse) for path in STORED)
