import fcntl
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from retro_agents.ground.errors import EXTRAS, NOT_INSTALLED
from tests.runs import ROOT, program

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def checkout(tmp_path):
    """A checkout as far as scripts/install looks at it. The Python of its environment only writes
    its arguments into the file `calls`."""
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/install", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    program(tmp_path / ".venv/bin/python", f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\n')
    return tmp_path


def install(checkout, *arguments, **variables):
    command = [str(checkout / "scripts" / "install"), *arguments]
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def calls(checkout):
    """What the environment's Python was called with since this was asked last."""
    file = checkout / "calls"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return lines


def test_bad_input_is_one_line_and_exit_code_2(checkout):
    shutil.rmtree(checkout / ".venv")
    for done, says in (
        (install(checkout, "--devel"), "unknown argument '--devel'"),
        (install(checkout, PYTHON="no-such-python"), "no Python 3.11 to 3.13 found"),
    ):
        assert done.returncode == 2 and says in done.stderr
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_a_link_to_anothers_environment_is_not_taken(checkout):
    theirs = checkout.parent / "theirs"
    theirs.mkdir()
    (checkout / ".venv").rename(theirs / ".venv")
    (checkout / ".venv").symlink_to(theirs / ".venv")
    done = install(checkout)
    assert (done.returncode, calls(checkout)) == (2, []) and f"made in {theirs}" in done.stderr


def test_an_environment_of_another_place_or_python_is_not_taken(checkout):
    assert install(checkout).returncode == 0 and calls(checkout)
    moved = checkout.rename(checkout.parent / "moved")
    _, other = (
        program(moved / name, f"#!/bin/sh\necho {version}\n")
        for name, version in ((".venv/bin/python", "3.11"), ("other", "3.12"))
    )
    for done, says in (
        (install(moved), f".venv was made in {checkout}"),
        (install(moved, "--dev", "--cpu"), "2 arguments"),
    ):
        assert (done.returncode, calls(moved)) == (2, []) and says in done.stderr
    (checkout.parent / "link").symlink_to(moved)
    (moved / ".venv" / ".place").write_text(f"{checkout.parent}/link\n")  # another name of it
    for python, says in ((str(other), ".venv has Python 3.11, not"), ("none", "no Python 3.11")):
        done = install(moved, PYTHON=python)
        assert done.returncode == 2 and says in done.stderr


def test_another_python_behind_the_link_is_installed_for(checkout):
    python = checkout / ".venv" / "bin" / "python"
    for name in ("python3.12", "python3.13"):  # as after an upgrade of the system
        shutil.copy(python, checkout / name)
    for name, installs in (("python3.12", True), ("python3.12", False), ("python3.13", True)):
        python.unlink()
        python.symlink_to(checkout / name)
        assert install(checkout).returncode == 0 and bool(calls(checkout)) == installs


def test_the_build_for_cpus_is_offered_to_those_who_lack_it(checkout):
    (checkout / ".venv" / ".torch-index").write_text("there")
    assert "4 GB less" not in install(checkout).stdout
    (checkout / ".venv" / ".torch-index").unlink()
    if sys.platform == "linux" and not shutil.which("nvidia-smi"):
        assert "4 GB less" in install(checkout, "--dev").stdout


@pytest.mark.parametrize(
    ("version", "good"), [("3, 10", 0), ("3, 11", 1), ("3, 13", 1), ("3, 14", 0)]
)
def test_a_python_for_which_wheels_are_missing_is_not_taken(checkout, tmp_path, version, good):
    """A Python of that version, as far as it is asked for it."""
    shutil.rmtree(checkout / ".venv")
    asks = f'{sys.executable} -c "import sys; sys.version_info = ({version}, 0); $2"'
    python = program(tmp_path / "python", f'#!/bin/sh\n[ "$1" = -c ] && exec {asks}\nexit 7\n')
    said = install(checkout, PYTHON=str(python)).stderr
    assert ("no Python 3.11 to 3.13 found" not in said) == good


def test_all_extras_but_the_known_ones_are_installed_and_once(checkout):
    extras = set[str]()
    for arguments in ((), ("--dev",)):
        assert install(checkout, *arguments).returncode == 0
        (installed,) = re.findall(r"--editable \.\[([a-z,]+)\]", "\n".join(calls(checkout)))
        more = set(installed.split(",")) - extras
        extras |= more
        assert install(checkout, *arguments).returncode == 0 and not calls(checkout)
    assert more == {"actors", "docs", "dev"}
    assert extras == set(EXTRAS.values()) - NOT_INSTALLED | {"docs", "dev"}
    assert install(checkout).returncode == 0 and not calls(checkout)


def test_packages_are_compiled_where_python_may_not_keep_what_it_compiles(checkout):
    assert install(checkout).returncode == 0 and "compileall" not in "".join(calls(checkout))
    (checkout / ".venv" / ".installed-base").unlink()
    assert install(checkout, PYTHONDONTWRITEBYTECODE="1").returncode == 0
    assert "-m compileall" in calls(checkout)[-1]


def test_two_installations_do_not_meet(checkout):
    with (checkout / ".install.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        command = [str(checkout / "scripts" / "install")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
            assert "waiting for its end" in waiting.stdout.readline()
            assert waiting.poll() is None and not calls(checkout)
            fcntl.flock(other, fcntl.LOCK_UN)
            waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and calls(checkout)


def test_a_file_system_without_locks_is_installed_on(checkout):
    program(checkout / "flock", "#!/bin/sh\nexit 71\n")  # neither free nor taken
    done = install(checkout, PATH=f"{checkout}:{os.environ['PATH']}")
    assert done.returncode == 0 and calls(checkout) and "waiting" not in done.stdout


def test_torch_is_taken_from_the_chosen_index_once(checkout):
    install(checkout)
    calls(checkout)
    install(checkout, TORCH_INDEX_URL="file:///index")
    torch, rest = [line for line in calls(checkout) if " install " in line]
    assert torch.endswith("--no-deps --index-url file:///index torch")
    assert "--extra-index-url file:///index" in rest
    install(checkout, TORCH_INDEX_URL="file:///index")
    install(checkout)
    assert not calls(checkout)


def test_a_switch_of_torch_that_was_stopped_goes_on(checkout):
    assert install(checkout).returncode == 0
    python = checkout / ".venv" / "bin" / "python"
    whole = python.read_text()
    python.write_text(whole + 'case "$*" in *--extra-index-url*) exit 1 ;; esac\n')
    assert install(checkout, TORCH_INDEX_URL="file:///index").returncode == 2
    python.write_text(whole)
    calls(checkout)
    assert install(checkout, TORCH_INDEX_URL="file:///index").returncode == 0
    assert "--editable" in "".join(calls(checkout))


def test_a_newer_torch_is_taken_from_the_index_of_the_one_that_is_there(checkout):
    install(checkout, TORCH_INDEX_URL="file:///index")
    calls(checkout)
    constraints = checkout / "constraints.txt"
    constraints.write_text(re.sub("(?m)^torch==.*", "torch==99", constraints.read_text()))
    assert install(checkout).returncode == 0
    (pip,) = [line for line in calls(checkout) if " install " in line]
    assert "--extra-index-url file:///index" in pip


@pytest.mark.parametrize("code", [0, 2])
def test_an_installation_removes_another_commits_stamps(checkout, code):
    """Whether it succeeds or fails: back at that commit, all is installed again."""
    assert install(checkout, "--dev").returncode == 0
    files = (checkout / "constraints.txt", checkout / ".venv" / "bin" / "python")
    constraints, python = (file.read_text() for file in files)
    files[0].write_text("torch==99\n")
    files[1].write_text(f'{python}case "$*" in *--editable*) exit {code} ;; esac\n')
    assert install(checkout).returncode == code
    for file, text in zip(files, (constraints, python), strict=True):
        file.write_text(text)
    calls(checkout)
    assert install(checkout, "--dev").returncode == 0 and calls(checkout)


CUDA = ("cuda-", "nvidia-", "triton")
"""What a build of torch for GPUs brings, at versions of its own; one for CPUs has none of it."""


def test_every_dependency_and_theirs_are_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    names = {canonicalize_name(name) for name in pins}
    wanted = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
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
    assert found - {"retro-contest-agents"} <= names
    assert "+" not in "".join(pins.values())  # a local tag would forbid other builds of torch


def test_every_extra_is_in_the_sites_table():
    table = (ROOT / "docs/start/index.md").read_text().partition("## Extras")[2].partition("##")[0]
    assert [name for name in PROJECT["optional-dependencies"] if f"`{name}`" not in table] == []


TOOLS = {"all", "dev", "docs", "memory"}
"""Extras of which no module is imported by a command, or that others contain."""
WRAPPERS = {"array-api-compat", "moviepy"}
"""What only Gymnasium's wrappers import."""


def test_what_an_extra_brings_is_known_where_it_is_missing():
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS.values()) == set(extras) - TOOLS
    found = packages_distributions()  # without what is not installed: its module has its name
    for extra in set(extras) - TOOLS:
        modules = {name for name, brought in EXTRAS.items() if brought == extra}
        brought = {canonicalize_name(d) for m in modules for d in found.get(m, [m])}
        named = {Requirement(r).name for r in extras[extra]}
        assert named - {"mpich"} - WRAPPERS == brought  # mpich has no module
