"""Starts runs from the page's form. They live on when the studio ends."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, final

import msgspec

from retro_agents.games.families import check_levels, split_names
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import AGENTS, find_given, is_package, shipped, with_this_project
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import preset_names

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LOG = "output.txt"
"""The file in a run's folder for what it prints."""


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """What the form says."""

    agent: str
    name: str
    preset: str = ""
    levels: str = ""
    timesteps: str = ""
    seed: str = ""
    flags: str = ""
    """Further words of the command line."""


def choices() -> dict[str, Any]:
    """What the form offers: agents with their presets, and splits of levels."""
    agents = {
        name: {
            "presets": preset_names(find_given(name).PRESETS),
            "shipped": shipped(name) is not None,
        }
        for name in AGENTS
        if is_package(name)
    }
    return {"agents": agents, "splits": split_names()}


def words_of(wanted: Wanted, root: Path) -> list[str]:
    """The trainer's module and its arguments. Raises UserError if they are bad, or if there is a
    folder of that name."""
    if wanted.agent not in AGENTS:
        raise UserError(f"no agent {wanted.agent!r}: choose one of {', '.join(AGENTS)}")
    if not NAME.fullmatch(wanted.name):
        raise UserError("a run's name has letters, digits, dots, dashes and underscores: give one")
    folder = root / wanted.name
    if folder.exists():
        raise UserError(f"{wanted.name} exists: give the run another name")
    words = ["--run-dir", str(folder)]
    for flag in ("preset", "levels", "timesteps", "seed"):
        if value := getattr(wanted, flag).strip():
            words += [f"--{flag}={value}"]
    try:
        words += shlex.split(wanted.flags)
    except ValueError as error:
        raise UserError(f"further flags: {error}") from None
    if {"-h", "--help", "--resume"} & {*words}:
        raise UserError("further flags: leave out --help and --resume")
    module, package = f"{wanted.agent}.train", find_given(wanted.agent)
    config = load_run_config(package.Config, words, presets=package.PRESETS, command=module)
    check_levels(config.run.levels, config.env)
    if Path(config.run.run_dir) != folder:
        raise UserError("further flags: leave out --run-dir, which is the run's name")
    return [module, *words]


@final
class Started:
    """The runs that this studio has started."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def command(self, wanted: Wanted) -> str:
        """The command that the form stands for. Raises UserError as `words_of` does."""
        return shlex.join(["python", "-m", *words_of(wanted, self.root)])

    def start(self, wanted: Wanted) -> None:
        """Start a run in a session of its own, which no signal to the studio reaches."""
        words, folder = words_of(wanted, self.root), self.root / wanted.name
        try:
            folder.mkdir(parents=True)
            with (folder / LOG).open("xb") as log:
                self._processes[wanted.name] = subprocess.Popen(
                    [sys.executable, "-m", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={**os.environ, **with_this_project()},
                )
        except OSError as error:
            raise UserError(f"{wanted.name} cannot be started: {error.strerror}") from None

    def failures(self) -> dict[str, str]:
        """The runs that ended with an error -> the last line that they printed."""
        found = {}
        for name, process in self._processes.items():
            if process.poll() not in (None, 0, 130):
                lines = (self.root / name / LOG).read_text("utf-8", "replace").split("\n")
                found[name] = next((line for line in reversed(lines) if line.strip()), "")
        return found
