"""The images' packages and scripts, as far as they run without building: docker-build/prove
builds."""

import importlib.metadata
import re
import runpy
import shutil
import subprocess
import tomllib
from itertools import chain
from types import SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement

from retro_agents.ground.errors import UserError
from tests.runs import ROOT, in_python, program

BUILD = ROOT / "docker-build"
DOCKERFILES = {
    "agent": ROOT / "Dockerfile",
    "environment": BUILD / "environment.Dockerfile",
    "competition": BUILD / "competition.Dockerfile",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
AGENTS = sorted(path.parent.name for path in ROOT.glob("*/agent.py"))
WHAT_RUNS = {
    "agent": f"""
import cv2, retro_agents.contest.player, retro_agents.games.retro.shrink
from retro_agents.contest.match.agent import Agent, resolve
for agent in {AGENTS}:
    import_module(agent + ".train")
    resolve(Agent(agent, "", "adapt"))
""",
    "environment": """
import numpy, retro_agents.contest.serve, retro_agents.games.retro.import_roms
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import parse_level
from retro_agents.games.retro.make import make_contest_env
for backend in ("native", "emulator"):
    level = parse_level("BrambleDash-Genesis-v0:BrambleWood.Act1")
    env = make_contest_env(level, EnvConfig(backend=backend))
    env.reset(seed=0)
    env.step(numpy.zeros(12, numpy.int8))
    env.close()
""",
    "competition": """
import retro_agents.judging.procgen
from contextlib import closing
from ppo2.train import make_envs, parse
with closing(make_envs(parse(["--preset", "procgen-competition", "--num-envs", "2"]))):
    pass
""",
}
"""What each image starts."""
ONLY = """
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing}:
            raise ModuleNotFoundError(f"no {{name}} in the image", name=name)

sys.meta_path.insert(0, Missing())
"""


@pytest.mark.parametrize("side", DOCKERFILES)
def test_an_image_has_all_that_its_side_runs_with(side):
    """In a process that lacks every other dependency, and every package that is not copied."""
    if side == "competition":
        pytest.importorskip("envpool.procgen", exc_type=ImportError)
    lines = (BUILD / f"{side}.txt").read_text().splitlines()
    packages = {line for line in lines if not line.startswith("#")}
    ours = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    left_out = {Requirement(name).name for name in ours} - packages - {"retro-contest-agents"}
    found = importlib.metadata.packages_distributions()
    missing = {name for name, of in found.items() if of[0].lower().replace("_", "-") in left_out}
    copied = re.findall(r"^COPY (\w+)\S* /app/", DOCKERFILES[side].read_text(), re.MULTILINE)
    missing |= {path.parent.name for path in ROOT.glob("*/__init__.py")} - set(copied)
    assert {"matplotlib", "lab"} <= missing
    done = in_python(ONLY.format(missing=missing) + WHAT_RUNS[side])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("side", DOCKERFILES)
def test_an_images_user_can_read_all_that_was_copied(side, tmp_path):
    """Whatever the umask was where it was checked out; pip makes /opt/venv in the build."""
    text = DOCKERFILES[side].read_text()
    folders = {*re.findall(r"^COPY .* /(\w+)", text[text.rindex("\nFROM ") :], re.MULTILINE)}
    for folder in folders - {"opt"}:
        file = tmp_path / folder / "package" / "file"
        file.parent.mkdir(parents=True)
        file.touch(0o600)
        for path in file.parents[:2]:
            path.chmod(0o700)
    for command in re.findall(r"\bchmod [^&\n]+", text):
        subprocess.run(command.replace(" /", f" {tmp_path}/").split(), check=True)
    made = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert made == {path: 0o755 if path.is_dir() else 0o644 for path in made} != {}


@pytest.mark.parametrize("script", ["build", "prove", "install", "run.sh"])
def test_scripts_are_sound_shell_and_say_what_they_do(script, tmp_path):
    path = BUILD / script
    shell = path.read_text().splitlines()[0].split("/")[-1].split()[-1]
    subprocess.run([shell, "-n", str(path)], check=True)
    if script != "install":  # which runs as an image is built
        done = subprocess.run([path, "--help"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout and not done.stderr


def build(folder, *arguments, **variables):
    """Run docker-build/build with stand-ins for the engines: docker's does not run."""
    scripts = {"docker": '[ "$1" != info ] || exit 1', "podman": "", "buildah": ""}
    for name, script in scripts.items():
        program(folder / name, f'#!/bin/sh\n{script}\necho {name} "$@"\n')
    environment = {"PATH": f"{folder}:/usr/bin:/bin", **variables}
    command = ["bash", str(BUILD / "build"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_build_takes_the_first_engine_that_answers_or_the_one_it_is_given(tmp_path):
    done = build(tmp_path, "agent", "--build-arg", "AGENT=random")
    words = "podman build --file Dockerfile --tag contest-agent --build-arg AGENT=random ."
    assert done.stdout == f"{words}\n"
    done = build(tmp_path, "environment", ENGINE="buildah", TAG="mine")
    file = "docker-build/environment.Dockerfile"
    assert done.stdout == f"buildah build --file {file} --tag mine .\n"
    for done, text in [
        (build(tmp_path, "both"), "say what to build"),
        (build(tmp_path, "agent", ENGINE="lxc"), "ENGINE=lxc is not known"),
    ]:
        assert done.returncode == 2 and text in done.stderr
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_wheels_are_of_python_3_11_and_kept_until_the_index_changes(tmp_path):
    shutil.copytree(BUILD, tmp_path / "docker-build")
    (tmp_path / "constraints.txt").touch()
    python = tmp_path / ".venv" / "bin" / "python"
    commands = ["id", "buildah", "podman", "runc", "catatonit", "debootstrap"]
    others = ["scripts/install", *(f"bin/{name}" for name in commands)]
    for path in (python, *(tmp_path / name for name in others)):
        program(path, "#!/bin/sh\nmkdir -p runs/docker/wheels\necho 0\n")

    def prove(**variables):
        env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", **variables}
        command = tmp_path / "docker-build" / "prove"
        return subprocess.run(command, capture_output=True, text=True, env=env)

    runs = [prove(), prove(), prove(TORCH_INDEX_URL="other")]
    assert ["packages, by" in done.stdout for done in runs] == [True, False, True]
    python.write_text("#!/bin/sh\nexit 1\n")  # as another Python answers
    done = prove()
    assert done.returncode == 2 and done.stderr.startswith("error: bookworm has Python 3.11")


@pytest.fixture(scope="module")
def entry():
    """The agent image's entry point."""
    return SimpleNamespace(**runpy.run_path(BUILD / "agent_entry.py"))


def test_the_entry_point_makes_the_players_command_line(entry, tmp_path):
    environ = {"AGENT": "rainbow", "MODE": "frozen", "SEED": "", "HOME": "/tmp"}
    given = ["--seed", "3", "--", "--lr", "0.1"]
    assert entry.arguments(environ, given, checkpoint=tmp_path) == [
        *("--dir", "/share", "--run-dir", "/runs", "--agent", "rainbow", "--mode", "frozen"),
        *given,
    ]


def test_the_images_checkpoint_goes_with_its_agent_only(entry, tmp_path):
    entry.keep_checkpoint("jerk", next((ROOT / "rainbow" / "pretrained").iterdir()), tmp_path / "c")
    for agent, given, expected in [
        ("jerk", [], True),
        ("jerk", ["--mode", "adapt", "--", "--hidden"], True),
        ("jerk", ["--agent", "random"], False),
        ("jerk", ["--agent=random"], False),
        ("rainbow", [], False),
        ("mine:play", [], False),
    ]:
        argv = entry.arguments({"AGENT": agent}, given, checkpoint=tmp_path / "c")
        assert ("--checkpoint" in argv) == expected
    with pytest.raises(UserError, match="--agent stands after --"):
        entry.arguments({"AGENT": "jerk"}, ["--", "--agent", "random"], checkpoint=tmp_path / "c")


def test_a_build_keeps_the_latest_checkpoint_or_the_packages_own(entry, tmp_path):
    (pretrained,) = (ROOT / "rainbow" / "pretrained").iterdir()
    steps = [tmp_path / "given" / "checkpoints" / f"step-00000000{n}" for n in (1, 2)]
    for step in steps:
        shutil.copytree(pretrained, step)
    (steps[1] / "config.json").write_text("{}")
    entry.keep_checkpoint("rainbow", tmp_path / "given", tmp_path / "kept")
    names = {path.name for path in pretrained.iterdir()}
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {*names, "kept-for"}
    assert (tmp_path / "kept" / "config.json").read_text() == "{}"
    entry.keep_checkpoint("rainbow", BUILD / "empty", tmp_path / "own")
    assert (tmp_path / "own" / "meta.json").is_file()
    entry.keep_checkpoint("random", BUILD / "empty", tmp_path / "none")
    assert not list((tmp_path / "none").iterdir())


def test_a_build_refuses_what_nobody_loads(entry, tmp_path):
    with pytest.raises(UserError, match="random takes no CHECKPOINT"):
        entry.keep_checkpoint("random", ROOT / "rainbow" / "pretrained", tmp_path / "kept")
    with pytest.raises(UserError, match="no agent 'rainbw'"):
        entry.keep_checkpoint("rainbw", BUILD / "empty", tmp_path / "other")


def test_the_entry_point_reads_what_compose_sets(entry, tmp_path):
    compose = yaml.safe_load((BUILD / "compose.yaml").read_text())
    for side in compose["services"].values():  # for threads on many cores, and an agent that saves
        assert side["pids_limit"] >= 4096 and side["stop_grace_period"] == "60s"
    names = [*compose["services"]["agent"]["environment"], "AGENT"]
    flags = entry.arguments(dict.fromkeys(names, "x"), [], checkpoint=tmp_path)[4::2]
    assert sorted(flags) == sorted(f"--{name.lower()}" for name in names)
