"""Which packages are agents: a checkpoint, which may come from anybody, cannot choose one."""

import os
import shutil
import subprocess
import sys

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.agents import find, find_given, known_agents
from retro_agents.run.checkpoint import load_agent, save_checkpoint
from tests.runs import ROOT, register

SPY = "from pathlib import Path\nPath('ran').touch()\ndef load(*_, **__): return 1\nbuild = load\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, where Python looks first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("sonic", "mine")]:
        sys.modules.pop(name)


def package(folder, name):
    """A checkpoint that names its own folder as its agent's package."""
    folder.mkdir(parents=True)
    for module in ("__init__", "agent", "config", "train"):
        (folder / f"{module}.py").write_text(SPY)
    saved = save_checkpoint(folder / "made", agent=name, config={}, tensors={})
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "made")


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("reader", [find, load_agent])
def test_a_folder_is_no_agent_because_it_lies_here(reader, registered, here):
    package(here / "sonic", "sonic")
    if registered:
        register(here, "sonic")
    with pytest.raises(UserError, match="no agent 'sonic' is installed here"):
        reader("sonic")
    assert not (here / "ran").exists()


@pytest.mark.parametrize("name", ["sonic", "jerk"])
def test_no_command_runs_the_code_in_a_checkpoint(name, tmp_path):
    """Nor if its folder has the name of an agent of this project."""
    package(tmp_path / name, name)
    command = [sys.executable, "-m", "retro_agents.judging.evaluate", name]
    paths = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "ran").exists()


def test_an_installed_package_is_an_agent_and_so_is_one_that_the_user_names(here, monkeypatch):
    place = here / "site"
    package(place / "mine", "mine")
    monkeypatch.syspath_prepend(place)
    with pytest.raises(UserError, match="no agent 'mine'"):
        load_agent(place / "mine")
    register(place, "mine")
    assert load_agent(place / "mine") == 1
    package(here / "sonic", "sonic")
    assert find_given("sonic").load("sonic") == load_agent("sonic") == 1


def test_agents_are_known_where_the_current_folder_is_gone(here):
    known = known_agents()
    gone = here / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert known_agents() == known
