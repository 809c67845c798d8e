"""The plan of the house: who may import whom, over every Python file outside of tests."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.runs import ROOT

AGENTS = ("rainbow", "ppo2", "jerk", "es", "trpo", "impala", "sac")
FLOORS = (
    ("retro_agents/ground",),
    ("retro_agents/contract",),
    ("retro_agents/run",),
    ("retro_agents/nets",),
    ("retro_agents/games/retro",),
    ("retro_agents/games/procgen",),
    ("retro_agents/games",),
    ("retro_agents/__init__.py",),
    ("retro_agents/experience",),
    ("retro_agents/judging",),
    ("lsh_memory",),
    AGENTS,
    ("retro_agents/sweeps",),
    ("retro_agents/contest",),
    ("retro_agents/studio",),
    ("retro_agents/template", "retro_agents/new_agent.py"),
    ("retro_agents/command.py",),
    ("retro_agents/__main__.py",),
    ("cartridge",),
    ("lab",),
    ("web",),
    ("scripts", "docker-build"),
)
"""From the ground up. A file imports from its own room and from the floors below; rooms of one
floor do not know each other."""


@cache
def sources() -> list[str]:
    """Every Python file that is not a test, as a path from the root."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
    outside = ("tests", "docs", "runs", "build", "dist", "leaderboard")
    kept = [p for p in found if p.parts[0] not in outside and not p.parts[0].startswith(".")]
    return sorted(path.as_posix() for path in kept)


def place(file: str) -> tuple[int, str]:
    """The floor and the room of a file; AssertionError if the plan has none for it."""
    fits = [
        (len(room), floor, room)
        for floor, rooms in enumerate(FLOORS)
        for room in rooms
        if file == room or file.startswith(f"{room}/")
    ]
    assert fits, f"{file} has no place in the plan"
    return max(fits)[1:]


def module_of(file: str) -> str:
    return Path(file).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


@cache
def imports() -> dict[str, set[str]]:
    """File -> the files that it imports, wherever the import stands: lazily, or for types alone."""
    files = {module_of(file): file for file in sources()}
    found: dict[str, set[str]] = defaultdict(set)
    for file in files.values():
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{file}: imports are written in full"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                while name and name not in files:
                    name = name.rpartition(".")[0]
                if name and files[name] != file:
                    found[file].add(files[name])
    return found


def test_every_room_of_the_plan_has_files() -> None:
    assert {place(file) for file in sources()} == {
        (floor, room) for floor, rooms in enumerate(FLOORS) for room in rooms
    }


def test_arrows_go_down_only() -> None:
    upward = [
        f"{file} -> {other}"
        for file, others in imports().items()
        for other in others
        if place(other)[0] >= place(file)[0] and place(other) != place(file)
    ]
    assert sorted(upward) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_agents_know_no_family_of_games() -> None:
    families = ("retro_agents/games/retro/", "retro_agents/games/procgen/")
    known = {
        f"{file} -> {other}"
        for file, others in imports().items()
        for other in others
        if file.partition("/")[0] in AGENTS and other.startswith(families)
    }
    assert known == set()


def test_a_lazy_import_counts() -> None:
    assert "retro_agents/games/retro/make.py" in imports()["retro_agents/games/retro/register.py"]
