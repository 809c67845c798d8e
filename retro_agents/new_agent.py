"""Begins an agent of your own: a package that trains, resumes, plays and is scored as ours are.

retro-agents new-agent fox && pip install -e fox && retro-agents train fox --timesteps 20000
"""

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import drafted_folder, make_folder, write_text
from retro_agents.ground.results import installed
from retro_agents.run.agents import GROUP
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import positional

TEMPLATE = Path(__file__).parent / "template" / "tally"
PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
dependencies = ["retro-contest-agents[agents]"]

# By this line `retro-agents` knows the agent and takes its checkpoints.
[project.entry-points."retro_agents.agents"]
{name} = "{name}"

[tool.setuptools]
packages = ["{name}"]
# `pip install -e` then puts this folder on Python's path, so that a folder {name} elsewhere on the
# path cannot hide the package.
package-dir = {{"" = "."}}

[tool.setuptools.package-data]
{name} = ["presets/*.yaml"]
"""
NEXT = """\
made {folder}: a hundred lines of code that learn which button is best. Next:
  pip install -e {folder}
  retro-agents train {name} --timesteps 20000 --run-dir runs/{name}
  retro-agents evaluate runs/{name}
  retro-agents contest run --agent {name} --checkpoint runs/{name} --levels bramble-test \\
      --timesteps 10000 --seeds 1
Then change config.py (settings), agent.py (what plays), training.py (what learns) and the first
line of __init__.py (what `retro-agents list agents` says)."""


@dataclass(frozen=True)
class NewAgentConfig:
    """Write a package with the smallest agent that learns, for you to change."""

    name: str = positional("NAME")
    """Name of the package, such as fox; a new folder of that name holds it."""


def write_agent(name: str, folder: Path) -> None:
    """Write the package into a folder, which must not exist. Raises UserError if it does, or if the
    name cannot be a package's or is taken."""
    if not re.fullmatch("[a-z]([a-z0-9_]{0,38}[a-z0-9])?", name) or keyword.iskeyword(name):
        expected = "up to 40 lower-case letters, digits and _, which is not last: fox"
        raise UserError(f"bad name {name!r}; expected {expected}")
    # A distribution may bring modules of other names: pip would put the agent in its place.
    foreign = installed(name) and not entry_points(group=GROUP, name=name)
    if find_spec(name) or foreign:
        raise UserError(f"there is a Python package {name!r} already: choose another name")
    if folder.exists():
        raise UserError(f"{folder} is there already: choose another name, or move it")
    make_folder(folder.parent)
    with drafted_folder(folder) as draft:
        files = [path for path in TEMPLATE.rglob("*.*") if path.is_file()]
        for file in sorted(path for path in files if path.suffix != ".pyc"):  # which pip leaves
            text = file.read_text(encoding="utf-8").replace("tally", name)
            made = draft / name / file.relative_to(TEMPLATE)
            write_text(made, text.replace("Tally", name.title().replace("_", "")))
        write_text(draft / "pyproject.toml", PROJECT.format(name=name))


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Write the package that the command line names."""
    name = parse_command(NewAgentConfig, argv, command="retro-agents new-agent").name
    folder = Path(name)
    write_agent(name, folder)
    print(NEXT.format(name=name, folder=folder))


if __name__ == "__main__":
    main()
