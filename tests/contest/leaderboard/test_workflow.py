"""What the workflow takes from a pull request: entries, and nothing else of the leaderboard."""

import os
import shutil
import subprocess

import pytest
import yaml

from tests.runs import ROOT

JOBS = yaml.safe_load((ROOT / ".github/workflows/leaderboard.yml").read_text())["jobs"]
(SCRIPT,) = (step["run"] for step in JOBS["changed"]["steps"] if step.get("id") == "diff")
STEPS = [*JOBS["score"]["steps"], *JOBS["check"]["steps"]]
(TAKE,) = {step["run"] for step in STEPS if "pull request's entries" in step.get("name", "")}
ENTRY = "entries/mine/entry.json"
pytestmark = pytest.mark.skipif(not shutil.which("jq"), reason="the script needs jq")


@pytest.fixture
def changed(tmp_path):
    """changed(files): the entries to score of a pull request that writes these; None: refused."""
    here = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")

    def commit(files):
        for name, text in files.items():
            path = tmp_path / "leaderboard" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text) if text else path.unlink()
        subprocess.run([*git, "add", "-A"], **here)
        subprocess.run([*git, "commit", "-qm", "a"], **here)

    def found(files):
        """The pull request's branch is older than a commit of main."""
        subprocess.run([*git, "init", "-qb", "main"], **here)
        commit({ENTRY: '{"steps": 0}', "entries/mine/net": "a", "page.md": "a"})
        subprocess.run([*git, "switch", "-qc", "theirs"], **here)
        commit(files)
        subprocess.run([*git, "switch", "-q", "main"], **here)
        commit({"results/2/old/result.json": "b"})
        subprocess.run([*git, "merge", "-qm", "a", "theirs"], **here)
        subprocess.run([*git, "clean", "-fdq"], **here)
        names = ("RUNNER_TEMP", "GITHUB_OUTPUT")
        env = os.environ | {name: str(tmp_path / name) for name in names}
        (tmp_path / "RUNNER_TEMP").mkdir()
        done = subprocess.run(["bash", "-ec", SCRIPT], **here | {"check": False}, env=env)
        return (tmp_path / "GITHUB_OUTPUT").read_text() if not done.returncode else None

    return found


ENTRIES = [
    ({"entries/theirs/entry.json": '{"steps": 50000}'}, "entries=leaderboard/entries/theirs"),
    ({"entries/theirs/entry.json": "{"}, "entries=leaderboard/entries/theirs"),
    ({"entries/mine/net": ""}, "entries=leaderboard/entries/mine"),
    ({ENTRY: '{"steps": 200000}'}, "entries="),
    ({ENTRY: "", "entries/mine/net": ""}, "entries="),
    ({"README.md": "b"}, "entries="),
    ({"entries/mine/größe": "b"}, "entries=leaderboard/entries/mine"),
]


@pytest.mark.parametrize(("files", "entries"), ENTRIES)
def test_changed_entries_are_scored_if_there_is_time(changed, files, entries):
    base, found = changed(files).splitlines()
    assert found.strip() == entries and base.startswith("base=")


@pytest.mark.parametrize(
    "name",
    [
        "results/2/mine/result.json",
        "seasons/3/season.json",
        "page.md",
        "entries/Mine/a",
        "entries/a",
    ],
)
def test_a_pull_request_brings_nothing_but_entries(changed, name):
    assert changed({ENTRY: '{"steps": 50000}', name: "b"}) is None


def test_of_an_entry_that_changed_the_files_are_taken_and_the_old_result_is_not(changed, tmp_path):
    changed({"entries/mine/net": ""})
    board = tmp_path / "leaderboard"
    begin = "git fetch -q . HEAD && git checkout -q HEAD^1 && test -f leaderboard/entries/mine/net"
    (board / "results/2/mine").mkdir(parents=True)
    (board / "results/2/mine/result.json").touch()
    take = "\n".join(TAKE.splitlines()[1:])  # after what is fetched from the server
    subprocess.run(["bash", "-ec", f"{begin}\n{take}"], cwd=tmp_path, check=True)
    assert [path.name for path in (board / "entries/mine").iterdir()] == ["entry.json"]
    assert [path.name for path in (board / "results/2").iterdir()] == ["old"]
