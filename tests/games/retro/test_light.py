"""BrambleDash with the packages of the light base alone, and without what only Linux has."""

import tomllib

import pytest
from packaging.requirements import Requirement

from retro_agents.ground.errors import EXTRAS
from tests.runs import ROOT, in_python

LINUX = ("fcntl", "resource", "termios", "pwd", "grp")
ALONE = f"""
import filelock  # chooses for its system
import sys
sys.modules.update(dict.fromkeys({[*EXTRAS, *LINUX]}))
"""
BY_NAME = """
import gymnasium
env = gymnasium.make("retro_agents:BrambleDash/train-v0")
env.reset(seed=0)
assert env.step(1)[0].any()
envs = gymnasium.make_vec("retro_agents:BrambleDash/test-v0", num_envs=3)
envs.reset(seed=0)
assert envs.step(envs.action_space.sample())[0].shape[0] == 3
"""
CONTESTS = """
from pathlib import Path
from retro_agents.games.retro.make import make_contest_env
env = make_contest_env("BrambleDash-Genesis-v0:SnowRidge.Act4", record_dir=Path(sys.argv[1]))
env.reset(seed=0)
assert env.step(env.action_space.sample())[0].shape == (224, 320, 3)
env.close()
"""
EXPERT = """
from cartridge.levels import fresh
from cartridge.levels.expert import Expert
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import parse_levels
Expert(parse_levels("BrambleWood.Act1"), EnvConfig())
fresh.which = str  # as if the console's compiler were installed
assert not fresh.has_compiler()
"""


@pytest.mark.parametrize("code", [BY_NAME, CONTESTS, EXPERT], ids=["names", "contest", "expert"])
def test_the_game_needs_no_more_than_the_base(code, tmp_path):
    done = in_python(ALONE + code, str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["evaluate", "ppo2", "--levels", "BrambleDash-Genesis-v0:SnowRidge.Act4"], "agents"),
        (["train", "ppo2", "--run-dir", "mine"], "agents"),
        (["record", "random", "--levels", "SonicTheHedgehog-Genesis-v0:X"], "retro"),
        (["import-roms", "."], "retro"),
        (["contest", "run", "--agent", "random", "--levels", "bramble-test"], "agents"),
    ],
)
def test_a_command_names_the_extra_that_it_lacks(words, extra, tmp_path):
    code = "import os; from retro_agents.command import main; os.chdir(sys.argv.pop(1)); main()"
    done = in_python(ALONE + code, str(tmp_path), *words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert f"[{extra}]" in done.stderr and not list(tmp_path.iterdir())


def test_the_base_is_of_packages_that_have_wheels_everywhere():
    base = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    heavy = {"torch", "numba", "scipy", "stable-retro", "opencv-python-headless", "tensorboard"}
    assert heavy.isdisjoint(Requirement(line).name for line in base)
