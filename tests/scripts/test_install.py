import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout as far as scripts/install looks at it."""
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/install", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def install(checkout: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(checkout / "scripts" / "install"), *arguments]
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_bad_input_is_one_line_and_exit_code_2(checkout: Path) -> None:
    for done, says in (
        (install(checkout, "--devel"), "unknown argument '--devel'"),
        (install(checkout, PYTHON="no-such-python"), "no Python 3.11 or newer found"),
    ):
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        assert says in done.stderr
    assert not (checkout / ".venv").exists()


def test_help_is_there_from_anywhere(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout.parent)
    command = [f"{checkout.name}/scripts/install", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "TORCH_INDEX_URL" in done.stdout and not done.stderr


def test_a_pythons_path_may_have_blanks(checkout: Path) -> None:
    python = checkout / "a b" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\necho called with $1; exit 1\n')
    python.chmod(0o755)
    done = install(checkout, PYTHON=str(python))
    assert "no Python 3.11" not in done.stderr and "called with" in done.stdout + done.stderr


def test_a_stamped_venv_is_left_alone(checkout: Path) -> None:
    """A venv whose Python does nothing but write down that it was called, and cannot be made."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >>{checkout}/calls\n')
    python.chmod(0o755)
    calls = checkout / "calls"
    assert install(checkout).returncode == 0
    assert "--editable ." in calls.read_text()
    calls.unlink()
    assert install(checkout).returncode == 0
    assert not calls.exists()
    assert install(checkout, "--dev").returncode == 0
    assert "--editable .[dev]" in calls.read_text()
    calls.unlink()
    for arguments in ((), ("--dev",)):
        assert install(checkout, *arguments).returncode == 0
    assert not calls.exists()


def test_torch_is_taken_from_the_chosen_index_once(checkout: Path) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >>{checkout}/calls\n')
    python.chmod(0o755)
    calls = checkout / "calls"
    install(checkout)
    calls.unlink()
    install(checkout, TORCH_INDEX_URL="file:///index")
    torch, rest = [line for line in calls.read_text().splitlines() if " install " in line]
    assert torch.endswith("--no-deps --index-url file:///index torch")
    assert "--extra-index-url file:///index" in rest
    calls.unlink()
    install(checkout, TORCH_INDEX_URL="file:///index")
    install(checkout)
    assert not calls.exists()


def test_every_dependency_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    names = {name.lower().replace("_", "-") for name in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert set(wanted) <= names
    assert "+" not in "".join(pins.values())  # a local tag would forbid other builds of torch
