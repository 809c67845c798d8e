"""The images' files, as far as they can be checked without building: docker-build/prove builds."""

import ast
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from retro_agents.ground.errors import EXTRAS, UserError

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "docker-build"
DOCKERFILES = {
    "agent": ROOT / "Dockerfile",
    "environment": BUILD / "environment.Dockerfile",
    "competition": BUILD / "competition.Dockerfile",
}
COMPOSE = yaml.safe_load((BUILD / "compose.yaml").read_text())
SIDES = ("environment", "agent")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def instructions(side: str) -> list[tuple[str, str]]:
    """(instruction, arguments) of a Dockerfile, continuation lines joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILES[side].read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def last_stage(side: str) -> list[tuple[str, str]]:
    """What follows a Dockerfile's last FROM."""
    found = instructions(side)
    return found[max(at for at, (word, _) in enumerate(found) if word == "FROM") :]


def copied(side: str) -> set[str]:
    """Paths of the repository that a Dockerfile copies, build arguments left out."""
    sources: set[str] = set()
    for word, rest in instructions(side):
        if word == "COPY" and not rest.startswith("--from"):
            sources |= {source for source in rest.split()[:-1] if "$" not in source}
    return sources


def variables(text: str) -> dict[str, str]:
    """${NAME:-default} in a text -> names with their defaults."""
    return dict(re.findall(r"\$\{(\w+):-([^}]*)\}", text))


@pytest.mark.parametrize("side", SIDES)
def test_images_do_not_run_as_root(side):
    (user,) = [rest for word, rest in last_stage(side) if word == "USER"]
    assert user == "10001:10001"
    assert user.split(":")[0] == variables(COMPOSE["services"][side]["user"])["CONTEST_UID"]
    # Nothing in the last stage changes the user again, and its folders are that user's alone.
    (made,) = [rest for word, rest in last_stage(side) if word == "RUN"]
    assert made.startswith("install -d -o 10001 -g 10001 -m 0700 /share ")


@pytest.mark.parametrize("side", SIDES)
def test_compose_shuts_both_sides_in(side):
    service = COMPOSE["services"][side]
    assert service["network_mode"] == "none"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"ports", "networks", "privileged", "cap_add", "devices", "pid"} & set(service)


def test_the_sides_share_one_folder_in_memory_and_nothing_else():
    volumes = {side: COMPOSE["services"][side]["volumes"] for side in SIDES}
    assert set(volumes["environment"]) & set(volumes["agent"]) == {"share:/share"}
    assert [volume.split(":")[-1] for volume in volumes["environment"]] == ["/share", "/results"]
    assert [volume.split(":")[-1] for volume in volumes["agent"]] == ["/share", "/runs"]
    options = COMPOSE["volumes"]["share"]["driver_opts"]
    assert options["type"] == "tmpfs"
    assert "mode=0700" in options["o"]


def test_both_sides_are_told_the_same_number_of_steps():
    served = [word for word in COMPOSE["services"]["environment"]["command"] if "TIMESTEPS" in word]
    told = COMPOSE["services"]["agent"]["environment"]["TIMESTEPS"]
    assert served == [f"--timesteps={told}"]


@pytest.mark.parametrize("side", SIDES)
def test_compose_builds_from_these_dockerfiles(side):
    build = COMPOSE["services"][side]["build"]
    context = (BUILD / build["context"]).resolve()
    assert context == ROOT
    assert context / build.get("dockerfile", "Dockerfile") == DOCKERFILES[side]
    known = {rest.split("=")[0] for word, rest in instructions(side) if word == "ARG"}
    assert set(build.get("args", {})) <= known


@pytest.mark.parametrize("side", SIDES)
def test_everything_copied_exists(side):
    for path in copied(side):
        assert (ROOT / path).exists(), path
    arguments = [rest for word, rest in instructions(side) if word == "ARG" and "/" in rest]
    folders = {rest.split("=")[1] for rest in arguments}
    assert folders == {"docker-build/empty"}
    assert [path.name for path in (BUILD / "empty").iterdir()] == ["README.md"]


def test_the_agents_image_has_every_agent_and_what_agents_use():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    tools = {"cartridge", "lab", "tests"}
    missing = packages - tools - copied("agent")
    assert not missing, f"Dockerfile needs `COPY NAME /app/NAME` for {missing}"


def test_the_agents_image_has_the_libraries_that_agents_import():
    distribution = {
        "cv2": "opencv-python-headless",
        "docstring_parser": "docstring-parser",
        "stable_retro": "stable-retro",
        "yaml": "pyyaml",
    }
    # All imported late: by those who ask for what an extra brings.
    unneeded = {*EXTRAS, "wandb"}
    known = sys.stdlib_module_names | unneeded | {path.name for path in ROOT.iterdir()}
    installed = set((BUILD / "agent.txt").read_text().split())
    # The sides' own packages also hold tools that no image needs: reports, films, play.
    for package in copied("agent") - {"contest", "procgen_env", "retro_env"}:
        for module in (ROOT / package).glob("*.py"):
            for name in imported(module) - known:
                assert distribution.get(name, name) in installed, f"{module} imports {name}"


ONLY = """
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing}:
            raise ModuleNotFoundError(f"no {{name}} in the image", name=name)

sys.meta_path.insert(0, Missing())
for name in {modules}:
    import_module(name)
"""


@pytest.mark.parametrize("side", SIDES)
def test_sides_start_with_nothing_but_what_their_images_have(side):
    """Modules import one another: what an agent needs may stand in none of its own files."""
    installed = set((BUILD / f"{side}.txt").read_text().split())
    extras = PROJECT["optional-dependencies"]
    left_out = bare(PROJECT["dependencies"], *extras.values()) - installed
    names = importlib.metadata.packages_distributions()
    missing = {name for name, of in names.items() if normal(of[0]) in left_out}
    assert {"imageio", "matplotlib"} <= missing
    missing |= {path.parent.name for path in ROOT.glob("*/__init__.py")} - copied(side)
    modules, then = ["retro_agents.contest.serve"], ""
    if side == "agent":
        agents = sorted(path.parent.name for path in ROOT.glob("*/agent.py"))
        assert agents == ["es", "impala", "jerk", "ppo2", "rainbow", "sac", "trpo"]
        modules = ["retro_agents.contest.player", *(f"{agent}.train" for agent in agents)]
        then = f"for agent in {agents}:\n    resolve(Agent(agent, '', 'adapt'))"
        then = f"from retro_agents.contest.match.agent import Agent, resolve\n{then}"
    code = ONLY.format(missing=missing, modules=modules) + then
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def normal(distribution: str) -> str:
    """A distribution's name as pyproject.toml spells it."""
    return distribution.lower().replace("_", "-")


def bare(*requirements: list[str]) -> set[str]:
    """The distributions' names, without bounds."""
    return {re.split("[^a-z0-9-]", name)[0] for names in requirements for name in names}


def imported(module: Path) -> set[str]:
    """Top-level names of what a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("side", SIDES)
def test_packages_of_an_image_are_the_projects_and_pinned(side):
    lines = (BUILD / f"{side}.txt").read_text().splitlines()
    names = {line for line in lines if not line.startswith("#")}
    assert names <= bare(PROJECT["dependencies"])
    pins = (ROOT / "constraints.txt").read_text().lower().replace("_", "-").splitlines()
    assert names <= {pin.split("==")[0] for pin in pins}


def test_no_registry_is_named():
    for path in [*DOCKERFILES.values(), *BUILD.iterdir()]:
        if path.is_file():
            assert not re.search(r"https?://|docker\.io|pypi\.org", path.read_text()), path


@pytest.mark.parametrize("script", ["build", "prove"])
def test_help_is_there_from_any_folder(script, tmp_path):
    for folder, name in ((BUILD, f"./{script}"), (tmp_path, str(BUILD / script))):
        done = subprocess.run([name, "--help"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout and not done.stderr


@pytest.mark.parametrize("script", ["build", "prove", "install", "run.sh"])
def test_scripts_are_sound_shell(script):
    path = BUILD / script
    assert os.access(path, os.X_OK)
    shell = path.read_text().splitlines()[0].split("/")[-1].split()[-1]
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def engine(folder: Path, name: str, script: str) -> None:
    """A stand-in for an engine's command."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def build(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run docker-build/build with only the engines in `folder`."""
    environment = {"PATH": f"{folder}:/usr/bin:/bin", **variables}
    command = ["bash", str(BUILD / "build"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    """docker whose engine does not run, podman that does, buildah that tells what it got."""
    engine(tmp_path, "docker", '[ "$1" != info ] || exit 1\necho docker "$@"')
    engine(tmp_path, "podman", 'echo podman "$@"')
    engine(tmp_path, "buildah", 'echo buildah "$@"')
    return tmp_path


def test_build_takes_the_first_engine_that_answers(engines):
    done = build(engines, "agent", "--build-arg", "AGENT=random")
    assert done.stdout.split() == [
        *("podman", "build", "--file", "Dockerfile", "--tag", "contest-agent"),
        *("--build-arg", "AGENT=random", "."),
    ]


def test_build_takes_the_engine_it_is_told(engines):
    done = build(engines, "environment", ENGINE="buildah", TAG="mine")
    file = "docker-build/environment.Dockerfile"
    assert done.stdout.split() == ["buildah", "build", "--file", file, "--tag", "mine", "."]


def test_build_says_what_is_wrong_in_one_line(engines):
    for done, text in [
        (build(engines), "say what to build"),
        (build(engines, "both"), "say what to build"),
        (build(engines, "agent", ENGINE="lxc"), "ENGINE=lxc is not known"),
    ]:
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert text in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def entry() -> ModuleType:
    """The agent image's entry point."""
    spec = importlib.util.spec_from_file_location("agent_entry", BUILD / "agent_entry.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        ("jerk", ["--mode", "adapt", "--", "--agent"], True),
        ("jerk", ["--agent", "random"], False),
        ("jerk", ["--agent=random"], False),
        ("rainbow", [], False),
        ("random", [], False),
        ("mine:play", [], False),
    ]:
        argv = entry.arguments({"AGENT": agent}, given, checkpoint=tmp_path / "c")
        assert ("--checkpoint" in argv) == expected


def test_a_build_keeps_the_latest_checkpoint_only(entry, tmp_path):
    given, kept = tmp_path / "given", tmp_path / "kept"
    pretrained = next((ROOT / "rainbow" / "pretrained").iterdir())
    for name in ("step-000000001", "step-000000002"):
        step = given / "checkpoints" / name
        step.mkdir(parents=True)
        for file in pretrained.iterdir():
            (step / file.name).write_bytes(file.read_bytes())
    (given / "checkpoints" / "step-000000002" / "config.json").write_text("{}")
    (given / "metrics.csv").touch()
    entry.keep_checkpoint("rainbow", given, kept)
    names = {path.name for path in pretrained.iterdir()}
    assert {path.name for path in kept.iterdir()} == {*names, "kept-for"}
    assert (kept / "config.json").read_text() == "{}"


def test_without_a_checkpoint_a_build_takes_the_packages_own(entry, tmp_path):
    empty = BUILD / "empty"
    entry.keep_checkpoint("rainbow", empty, tmp_path / "rainbow")
    assert (tmp_path / "rainbow" / "meta.json").is_file()
    entry.keep_checkpoint("random", empty, tmp_path / "random")
    assert not list((tmp_path / "random").iterdir())


def test_a_build_refuses_a_checkpoint_that_nobody_loads(entry, tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "meta.json").touch()
    with pytest.raises(UserError, match="random takes no CHECKPOINT"):
        entry.keep_checkpoint("random", tmp_path / "given", tmp_path / "kept")


def test_a_build_refuses_an_agent_that_does_not_exist(entry, tmp_path):
    with pytest.raises(UserError, match="no agent 'rainbw'"):
        entry.keep_checkpoint("rainbw", BUILD / "empty", tmp_path / "kept")
