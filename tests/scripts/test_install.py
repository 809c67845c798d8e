import fcntl
import os
import re
import shutil
import subprocess
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from retro_agents.ground.errors import EXTRAS, NOT_INSTALLED

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
    assert "--editable .[es,play,procgen,report,benchmarks,completion]\n" in calls.read_text()
    calls.unlink()
    assert install(checkout).returncode == 0
    assert not calls.exists()
    assert install(checkout, "--dev").returncode == 0
    extras = "es,play,procgen,report,benchmarks,completion,actors,dev"
    assert f"--editable .[{extras}]\n" in calls.read_text()
    calls.unlink()
    for arguments in ((), ("--dev",)):
        assert install(checkout, *arguments).returncode == 0
    assert not calls.exists()


def test_packages_are_compiled_where_python_may_not_keep_what_it_compiles(checkout: Path) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    python, calls = checkout / ".venv" / "bin" / "python", checkout / "calls"
    python.write_text(f'#!/bin/sh\necho "$@" >>{calls}\n')
    python.chmod(0o755)
    assert install(checkout).returncode == 0 and "compileall" not in calls.read_text()
    (checkout / ".venv" / ".installed-base").unlink()
    assert install(checkout, PYTHONDONTWRITEBYTECODE="1").returncode == 0
    assert "-m compileall" in calls.read_text().splitlines()[-1]


def test_two_installations_do_not_meet(checkout: Path) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >>{checkout}/calls\n')
    python.chmod(0o755)
    with (checkout / ".install.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        command = [str(checkout / "scripts" / "install")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
            assert waiting.stdout is not None
            assert "waiting for its end" in waiting.stdout.readline()
            assert waiting.poll() is None and not (checkout / "calls").exists()
            fcntl.flock(other, fcntl.LOCK_UN)
            waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and (checkout / "calls").exists()


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


CUDA = ("cuda-", "nvidia-", "triton")
"""What a build of torch for GPUs brings, at versions of its own; one for CPUs has none of it."""


def test_every_dependency_and_theirs_are_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    names = {canonicalize_name(name) for name in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    found: set[str] = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        name = canonicalize_name(requirement.name)
        if name in found or name.startswith(CUDA):
            continue
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        found.add(name)
        with suppress(PackageNotFoundError):
            wanted += requires(name) or []
    assert found <= names
    assert "+" not in "".join(pins.values())  # a local tag would forbid other builds of torch


def test_extras_that_the_script_leaves_out_are_known() -> None:
    script = (ROOT / "scripts/install").read_text()
    base, dev = re.findall(r'extras="(?:\$extras,)?([a-z,]+)"', script)
    assert {*base.split(","), *dev.split(",")} - {"dev"} == set(EXTRAS.values()) - NOT_INSTALLED
    assert dev == "actors,dev"


def test_what_an_extra_brings_is_known_where_it_is_missing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(EXTRAS.values()) == set(extras) - {"dev"}
    found = packages_distributions()  # without what is not installed: its module has its name
    for extra in set(extras) - {"dev"}:
        modules = {name for name, brought in EXTRAS.items() if brought == extra}
        brought = {canonicalize_name(d) for m in modules for d in found.get(m, [m])}
        assert {Requirement(r).name for r in extras[extra]} - {
            "mpich"
        } == brought  # mpich has no module
