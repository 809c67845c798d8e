"""What commands say of themselves, and how fast they can: without the modules that take seconds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs import ROOT

AGENTS = ("rainbow", "ppo2", "trpo", "impala", "sac", "jerk", "es")
SLOW = ("torch", "cv2", "numba", "stable_retro")


@pytest.mark.parametrize("agent", AGENTS)
def test_help_comes_in_groups_and_without_what_is_slow_to_import(agent: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", f"{agent}.train", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0 and "gymnasium" in modules and modules.isdisjoint(SLOW)
    titles = [line for line in done.stdout.splitlines() if line[:1].strip() and line.endswith(":")]
    assert titles[:2] == ["options:", "Most used:"] and titles[-1] == "The machine:"
    assert any(title.startswith("How it learns: ") for title in titles)
    most_used = done.stdout.partition("Most used:")[2].partition("\n\n")[0]
    assert 10 <= most_used.count("\n  --") <= 12 and "--preset" in most_used


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rainbow.train --pres", ["--preset"]),
        ("rainbow.train --preset lap", ["laptop"]),
        ("ppo2.train --levels bramble-te", ["bramble-test"]),
        ("rainbow.train --encoder d", ["data-efficient"]),
        ("retro_agents.judging.evaluate --epi", ["--episodes"]),
    ],
)
def test_a_shell_completes_a_word(words: str, expected: list[str], tmp_path: Path) -> None:
    line, answer = f"python -m {words}", tmp_path / "answer"
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "3"}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_IFS": "\n"}
    command = [sys.executable, "-m", words.partition(" ")[0]]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **asked}, check=True)
    assert [word.strip() for word in answer.read_text().split("\n")] == expected


@pytest.mark.parametrize("script", ["test", "check", "demo", "import-roms", "install"])
def test_a_scripts_help_installs_nothing(script: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    command = [tmp_path / "scripts" / script, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and len(done.stdout) > 20 and not done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_demos_help_does_not_bring_an_old_environment_up_to_date(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho python "$@"\n')
    python.chmod(0o755)
    command = [tmp_path / "scripts" / "demo", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "python scripts/demo.py --help\n")
