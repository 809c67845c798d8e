"""What a wheel holds, by the lists of setuptools itself; nothing is built."""

import subprocess
from pathlib import Path

import pytest
from setuptools import Distribution
from setuptools.config.pyprojecttoml import apply_configuration

from retro_agents.run.agents import AGENTS
from tests.runs import ROOT

NAMES = {"retro_agents", "lsh_memory", "cartridge", *AGENTS}
BUILT = "retro_agents/studio/page/"
"""The studio's page, if `scripts/web` has built it: in the wheel, and not in git."""
NOT_NEEDED = (".md", ".gif", ".png", ".c", ".h", ".s", ".ld", ".txt", "Makefile")
"""Of what lies in packages: for readers, or to build the cartridge with."""


@pytest.fixture(scope="module")
def wheel():
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


def test_the_wheel_holds_the_packages_and_all_their_data(wheel):
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    tracked = {path for path in done.stdout.splitlines() if (ROOT / path).is_file()}
    needed = {
        path
        for path in tracked
        if path.split("/")[0] in NAMES
        and not {"results", "proofs"} & set(path.split("/"))
        and (not path.endswith(NOT_NEEDED) or path.endswith("/rom.md"))
    }
    assert needed - wheel == set()
    assert {path for path in wheel if not path.startswith(BUILT)} <= tracked
    assert {path.split("/")[0] for path in wheel} == NAMES
    assert {"rainbow/presets/laptop.yaml", "cartridge/sanitized.json"} <= needed
    assert "retro_agents/games/procgen/original.txt" in wheel
