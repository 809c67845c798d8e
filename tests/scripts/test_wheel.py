"""What a wheel holds, by the lists of setuptools itself; nothing is built."""

import subprocess
from pathlib import Path

import pytest
from setuptools import Distribution
from setuptools.config.pyprojecttoml import apply_configuration

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("tests", "scripts", "docker-build", "docs", "lab", ".ci")
NOT_NEEDED = (".md", ".gif", ".png", ".c", ".h", ".s", ".ld", "Makefile", ".txt")
"""Of what lies in packages: for readers, to build the cartridge with, peers' requirements."""
STORED = {"results", "proofs"}


@pytest.fixture(scope="module")
def wheel() -> set[str]:
    """Every path in the wheel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        distribution = apply_configuration(
            Distribution({"script_name": "setup.py"}), "pyproject.toml"
        )
        build = distribution.get_command_obj("build_py")
        build.ensure_finalized()
        modules = {path for _, _, path in build.find_all_modules()}
        data = {f"{folder}/{f}" for _, folder, _, files in build.data_files for f in files}
    return {Path(path).as_posix() for path in modules | data}


def tracked() -> list[str]:
    """Every file of the repository."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [path for path in done.stdout.splitlines() if (ROOT / path).is_file()]


def test_every_package_and_all_its_data_are_in_the_wheel(wheel: set[str]) -> None:
    inside = [p for p in tracked() if "/" in p and p.split("/")[0] not in OUTSIDE]
    needed = {
        path
        for path in inside
        if not STORED & set(path.split("/"))
        and (not path.endswith(NOT_NEEDED) or path.endswith("/rom.md"))
    }
    assert needed - wheel == set()
    assert {
        "rainbow/presets/laptop.yaml",
        "retro_agents/games/retro/splits/bramble-test.csv",
    } <= needed


def test_nothing_else_is_in_the_wheel(wheel: set[str]) -> None:
    assert wheel <= set(tracked())
