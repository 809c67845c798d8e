"""What is said by a Python that cannot run the project."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.runs import ROOT

OLD = sorted(Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python"))
MODULES = (
    "retro_agents.games.retro.doctor",
    "rainbow.train",
    "retro_agents.judging.evaluate",
    "retro_agents.judging.list",
    "retro_agents.games.retro.import_roms",
    "lab.studies",
)


def said(python, module, where, *flags):
    done = subprocess.run(
        [python, *flags, "-m", module, "--help"], cwd=where, capture_output=True, text=True
    )
    assert done.returncode == 2 and not done.stdout, done
    assert done.stderr.startswith("error: Python 3.") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The packages, without a .venv beside them."""
    tmp_path = tmp_path_factory.mktemp("checkout")
    for name in {"retro_agents", *(module.partition(".")[0] for module in MODULES)}:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("pretrained"))
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "install").touch()
    return tmp_path


@pytest.mark.skipif(not OLD, reason="needs an old Python, as pyenv keeps them")
@pytest.mark.parametrize("module", MODULES)
def test_an_old_python_is_told_so(module, checkout):
    for python in OLD:
        words = said(python, module, checkout)
        assert "is too old: 3.11 or newer is needed; .venv is missing: run scripts/install" in words


def test_a_command_without_our_packages_says_how_to_go_on(checkout):
    """-S: without what is installed."""
    for module in MODULES:
        words = said(sys.executable, module, checkout, "-S")
        assert ".venv is missing: run scripts/install" in words
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / ".venv/bin/python").touch()
    words = said(sys.executable, module, checkout, "-S")
    assert "lacks the packages needed; .venv is not active: source .venv/bin/activate" in words
    venv.create(checkout / "own", symlinks=True)
    own = checkout / "own/bin/python"
    assert f"install them there: {own} -m pip install {checkout}" in said(own, MODULES[0], checkout)
    (checkout / "scripts/install").unlink()  # as where a wheel is installed
    assert "pip install retro-contest-agents" in said(sys.executable, module, checkout, "-S")
