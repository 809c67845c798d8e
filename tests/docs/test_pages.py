"""The code of the site and of the README runs, and the flags of all commands exist, also those in
other READMEs."""

import contextlib
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pkgutil import resolve_name

import numpy as np
import pytest

from retro_agents.command import COMMANDS
from retro_agents.command import main as retro_agents
from retro_agents.run.agents import AGENTS, find
from retro_agents.run.fields import flag_of, kinds
from tests.runs import ROOT

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```", re.M | re.S)
MADE = [ROOT / "docs" / name for name in ("generated", "leaderboard", "notebook", "results")]
PAGES = {
    path.relative_to(ROOT).as_posix().removeprefix("docs/"): BLOCK.findall(
        path.read_text(encoding="utf-8")
    )
    for path in sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "leaderboard" / "README.md"])
    if path.parent not in MADE
}
"""Page -> (language, code) of each of its blocks."""
RUNS = [page for page, blocks in PAGES.items() if {"python", "bash"} & {lang for lang, _ in blocks}]
NEEDS = {"envpool": "procgen:", "stable_baselines3": "stable_baselines3", "onnxruntime": "--onnx"}
APART = {"|", "||", "sweep", "contest"}
"""What cannot be done in this process, or starts others."""
STEPS = re.compile(r"(train ppo2 .*--timesteps )(\d+)")
"""What is run with half as many steps as on its page."""


def in_this_process(words: list[str]) -> None:
    """Run `retro-agents …` or `python -m MODULE …` without another start of Python."""
    try:
        if words[0] == "retro-agents":
            retro_agents(words[1:])
        else:
            resolve_name(f"{words[2]}:main")(words[3:])
    except SystemExit as stop:
        assert not stop.code, words


def run_line(line: str) -> None:
    """A line of a bash block: commands of this project here, everything else in a shell."""
    line = STEPS.sub(lambda found: f"{found[1]}{int(found[2]) // 2}", line)
    words = shlex.split(line)
    if (words[0] != "retro-agents" and words[:2] != ["python", "-m"]) or APART & {*words}:
        line = line.replace("retro-agents ", f"{sys.executable} -P -m retro_agents ", 1)
        line = line.replace("python -m ", f"{sys.executable} -m ")
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(["bash", "-ec", line], check=True, env=env, timeout=120)
    else:
        in_this_process(words)


@pytest.mark.parametrize("page", RUNS)
def test_a_pages_code_runs(page, monkeypatch, tmp_path):
    text = "\n".join(code for _, code in PAGES[page])
    for module, word in NEEDS.items():
        if word in text:
            pytest.importorskip(module)
    for path in ROOT.iterdir():  # a reader stands in a checkout
        if path.name[0] != "." and path.name not in ("build", "dist", "docs", "runs"):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict = {"__name__": "page"}
    for language, code in PAGES[page]:
        if file := re.match(r"# (\w+\.py)\n", code):
            (tmp_path / file[1]).write_text(code)
        elif language == "python":
            exec(code, names)
        elif language == "bash":
            for line in code.splitlines():
                run_line(line)


@pytest.mark.parametrize("page", [page for page in PAGES if "diff" in dict(PAGES[page])])
def test_the_lines_that_a_page_changes_are_in_their_files(page):
    """A block names files after +++; between the lines @@, those that stay or go are in a row."""
    for code in [code for language, code in PAGES[page] if language == "diff"]:
        for part in re.split(r"^\+\+\+ ", code, flags=re.M)[1:]:
            name, _, changes = part.partition("\n")
            for change in changes.split("@@\n"):
                there = [line[1:] for line in change.splitlines(True) if line[0] != "+"]
                assert not there or "".join(there) in (ROOT / name).read_text(), change


def folder_made(line: str) -> tuple[str, str] | None:
    """The folder that a trainer, a sweep or a contest makes, and its command without remarks."""
    words = line.partition(" #")[0].split()
    command = re.sub(
        r"(?:python -m (\w+)\.train|mpirun .*(es)/master\.py)\b", r"train \1\2", " ".join(words)
    )
    command = command.removeprefix("retro-agents ")
    found = re.search(r"\b(?:train|clone|sweep|contest run) .*--(?:run-dir|out)[ =](\S+)", command)
    default = re.match(r"(?:train|(contest) run .*--agent) (\w+)", command)
    if {"--resume", "--help"} & {*words} or not (found or default):
        return None
    if found:
        return found[1], command
    return "/".join(filter(None, ("runs", *default.groups()))), command


@pytest.fixture
def shell_lines(monkeypatch):
    """All lines of commands on the pages and in the READMEs."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    from extension.links import PAGES as READMES

    others = [BLOCK.findall((ROOT / name).read_text(encoding="utf-8")) for name in READMES]
    return [
        line
        for language, code in itertools.chain(*PAGES.values(), *others)
        if language in ("", "sh", "bash")
        for line in code.replace("\\\n", " ").splitlines()
    ]


def test_a_folder_is_made_by_one_command(shell_lines):
    """Who reads two pages may run the commands of both: a folder is never overwritten."""
    made = defaultdict(set)
    for folder, command in filter(None, map(folder_made, shell_lines)):
        made[folder].add(command)
    assert made and not [commands for commands in made.values() if len(commands) > 1]


def test_folders_of_the_reader_are_quoted(shell_lines):
    """Their paths may have spaces."""
    unquoted = (re.sub(r'"[^"]*"', '""', line) for line in shell_lines)
    assert not [line for line in unquoted if re.search(r"\$\{?(?:PWD|OUT)\b", line)]


def test_the_readmes_ten_lines(monkeypatch, tmp_path):
    """The agent plays for fewer steps."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(code.strip().splitlines()) <= 10
    monkeypatch.chdir(tmp_path)  # a shipped agent is found from any folder
    names: dict = {}
    exec(code.replace('-v0")', '-v0", episode_steps=5)'), names)
    names["env"].close()
    assert names["obs"].shape == (4, 84, 84) and names["obs"].dtype == np.uint8


def flags_of(words: list[str]) -> set[str] | None:
    """All flags that a command takes; None if it is not one of this project."""
    line = " ".join(words)
    agents = [a for a in AGENTS if f"{a}.train " in line or f"-agents train {a} " in line]
    agents += ["es"] * ("es/master.py" in line)
    if agents:
        names = {name for here in kinds(find(agents[0]).Config).values() for name in here}
        more = {"--help", "--preset", "--config"}
        return {*more, *map(flag_of, names), *(flag_of(f"no_{name}") for name in names)}
    from extension.commands import parser_of

    if words[:2] == ["python", "-m"] and (ROOT / words[2].partition(".")[0]).is_dir():
        path = words[2].replace(".", "/")
        module = words[2] if (ROOT / f"{path}.py").is_file() else f"{words[2]}.__main__"
        before = itertools.takewhile(lambda word: word[0] != "-", words[3:])
        return {*parser_of([*before], resolve_name(f"{module}:main"))._option_string_actions}
    found = [name for name in COMMANDS if f"{line} ".startswith(f"retro-agents {name} ")]
    if not found or found == ["train"]:
        return None
    return {*parser_of(max(found, key=len).split())._option_string_actions}


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("python -m cartridge.levels new --seed 7", "--seeds"),
        ("python -m ppo2.clone --updates 20", "--demonstrations"),
        ("python -m lab.studies ppo2 --jobs 2", "--only"),
        ("retro-agents contest run --seeds 1", "--agent"),
        ("retro-agents train jerk --timesteps 5", "--policy-share"),
    ],
)
def test_a_commands_flags_are_known(line, flag, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    known = flags_of(line.split())
    assert flag in known and f"{flag}x" not in known


def test_flags_exist(shell_lines):
    wrong = []
    for line in shell_lines:
        words: list[str] = []
        with contextlib.suppress(ValueError):  # an apostrophe in a remark
            words = shlex.split(line, comments=True)
        known = flags_of(words)
        own = words[: words.index("--")] if "--" in words else words
        start = next((i for i, w in enumerate(own) if w.endswith((".train", "master.py"))), 0)
        used = {word.partition("=")[0] for word in own[start:] if word.startswith("--")}
        wrong += [line] if known is not None and not used <= known else []
    assert not wrong
