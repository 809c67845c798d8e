"""Starts runs and contests from the page's forms. They live on when the studio ends."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import msgspec

from retro_agents.contest.match.agent import Agent, resolve
from retro_agents.contest.run import RunConfig, limits_of
from retro_agents.games.families import check_levels
from retro_agents.games.retro.references import REFERENCES
from retro_agents.games.retro.splits import split_names
from retro_agents.ground.errors import UserError, missing_extra
from retro_agents.ground.files import CHECKPOINT
from retro_agents.judging.levels import playable_levels
from retro_agents.run.agents import AGENTS, find_given, is_package, shipped, with_this_project
from retro_agents.run.checkpoint import agent_of
from retro_agents.run.command_line import load_run_config, parse_command
from retro_agents.run.config import preset_names
from retro_agents.run.flags import asks_for_help
from retro_agents.studio.agents import Agents
from retro_agents.studio.files import MOST_LINE, opened, reason_of
from retro_agents.studio.index import is_inside
from retro_agents.studio.row import history
from retro_agents.studio.writers import locks, writer_of

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LOG = "output.txt"
"""The file in a run's folder for what it prints."""
FINE = (None, 0, 129, 130, 143)
"""Exit codes of what runs, is done, or was ended by SIGHUP, Ctrl-C or SIGTERM."""


class Wanted(msgspec.Struct, forbid_unknown_fields=True, tag="run"):
    """What the form for a run says."""

    agent: str
    name: str
    preset: str = ""
    levels: str = ""
    timesteps: str = ""
    seed: str = ""
    flags: str = ""
    """Further words of the command line."""


class Match(msgspec.Struct, forbid_unknown_fields=True, tag="contest"):
    """What the form for a contest says. agent: one of `Agents`."""

    agent: str
    name: str
    mode: str = "adapt"
    levels: str = ""
    timesteps: str = ""
    seeds: str = ""


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


def free(root: Path, name: str) -> Path:
    """The folder of that name. Raises UserError if it is no name, or if there is one."""
    if not NAME.fullmatch(name):
        raise UserError(
            "a name begins with a letter or a digit, and has letters, digits, dots, dashes and "
            "underscores: give one"
        )
    if is_inside(name) or CHECKPOINT.fullmatch(name):
        raise UserError(f"{name}: no runs are looked for in a folder of that name: give another")
    if (root / name).exists():
        raise UserError(f"{name} exists: give another name")
    return root / name


def flags_of(wanted: Wanted | Match, *names: str) -> list[str]:
    """The fields of these names as flags, but for those that are empty."""
    given = {name: getattr(wanted, name).strip() for name in names}
    return [f"--{name}={value}" for name, value in given.items() if value]


def contest_words(wanted: Match, root: Path, agents: Agents) -> list[str]:
    """The contest's module and its arguments. Raises UserError if they are bad."""
    source, folder = agents.found(wanted.agent), free(root, wanted.name)
    shared = flags_of(wanted, "levels", "timesteps", "seeds")
    if wanted.agent in REFERENCES:
        who = ["--agent", wanted.agent]
    else:
        who = ["--agent", agent_of(source), "--checkpoint", str(source)]
        who += flags_of(wanted, "mode")
    words = [*who, *shared, "--out", str(folder)]
    config = parse_command(RunConfig, words, command="retro-agents contest run")
    limits_of(config)
    playable_levels(config.levels, agent=config.checkpoint)
    resolve(Agent(config.agent, config.checkpoint, config.mode, config.device, (), None))
    return ["retro_agents.contest.run", *words]


def words_of(wanted: Wanted | Match, root: Path, agents: Agents) -> list[str]:
    """A module and its arguments. Raises UserError if they are bad, if they need a module that is
    not installed, or if there is a folder of that name."""
    try:
        if isinstance(wanted, Match):
            return contest_words(wanted, root, agents)
        return run_words(wanted, root)
    except ModuleNotFoundError as error:
        raise UserError(missing_extra(error) or str(error)) from None


def run_words(wanted: Wanted, root: Path) -> list[str]:
    """A run's module and its arguments. Raises UserError if they are bad."""
    if wanted.agent not in AGENTS:
        raise UserError(f"no agent {wanted.agent!r}: choose one of {', '.join(AGENTS)}")
    folder = free(root, wanted.name)
    words = ["--run-dir", str(folder), *flags_of(wanted, "preset", "levels", "timesteps", "seed")]
    try:
        words += shlex.split(wanted.flags)
    except ValueError as error:
        raise UserError(f"further flags: {error}") from None
    if "--resume" in words or any(map(asks_for_help, words)):
        raise UserError("further flags: leave out --help and --resume")
    module, package = f"{wanted.agent}.train", find_given(wanted.agent)
    config = load_run_config(package.Config, words, presets=package.PRESETS, command=module)
    check_levels(config.run.levels, config.env)
    if Path(config.run.run_dir) != folder:
        raise UserError("further flags: leave out --run-dir, which is the run's name")
    return [module, *words]


@final
class Started:
    """The runs and contests that this studio has started."""

    def __init__(self, root: Path, agents: Agents) -> None:
        self.root, self.agents = root, agents
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._failures: dict[str, str] = {}

    def command(self, wanted: Wanted | Match) -> str:
        """The command that the form stands for. Raises UserError as `words_of` does."""
        return shlex.join(["python", "-m", *words_of(wanted, self.root, self.agents)])

    def start(self, wanted: Wanted | Match) -> None:
        """Start it in a session of its own, which no signal to the studio reaches."""
        words, folder = words_of(wanted, self.root, self.agents), self.root / wanted.name
        self._failures.pop(wanted.name, None)
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
            raise UserError(f"{wanted.name} cannot be started: {reason_of(error)}") from None

    def failures(self) -> dict[str, str]:
        """What ended with an error, is there still and was not resumed -> the last line that it
        printed."""
        for name, process in [*self._processes.items()]:
            if name not in self._failures and (code := process.poll()) not in FINE:
                self._failures[name] = "it ended with an error"  # while a disk does not answer
                line = last_line(self.root / name / LOG)
                killed = f"it was killed by signal {-code}; its last line: {line}"
                self._failures[name] = killed if code < 0 else line or self._failures[name]
        for name in [*self._failures]:
            with suppress(OSError, UserError):  # a run resumed since is no failure
                folder = self.root / name
                if len(history(folder)) > 1 or writer_of(folder, locks()) > 0:
                    self._processes.pop(name, None), self._failures.pop(name, None)
        return {name: why for name, why in self._failures.items() if (self.root / name).is_dir()}


def last_line(path: Path) -> str:
    """The last line of a text; "" without one."""
    try:
        with opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_LINE))
            lines = file.read(MOST_LINE).decode("utf-8", "replace").split("\n")
    except OSError:  # somebody has removed its folder
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
