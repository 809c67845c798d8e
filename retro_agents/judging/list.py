# PYTHON_ARGCOMPLETE_OK
"""Lists the values that flags accept: retro-agents list levels|splits|agents|presets|runs.

With --of NAME: the levels of one split, the presets of one agent, the runs in one folder.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from retro_agents.games.families import level_names, split_names
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import CHECKPOINT, complete_checkpoints, step_of
from retro_agents.ground.output import printable
from retro_agents.run.agents import AGENTS, find_given, is_package, shipped
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import preset_names
from retro_agents.run.fields import positional


@dataclasses.dataclass(frozen=True)
class ListConfig:
    """List levels (of a split), splits, agents, presets (of an agent) or runs (in a folder)."""

    what: Literal["levels", "splits", "agents", "presets", "runs"] = positional("WHAT")
    """levels, splits, agents, presets or runs."""
    of: str = ""
    """Split whose levels, agent whose presets, or folder whose runs are listed; default: all, and
    the runs in runs/."""


def lines(what: str, of: str) -> Iterator[str]:
    """The lines to print. Raises UserError if the name is unknown, or if none may be given."""
    if of and what in ("splits", "agents"):
        raise UserError(f"--of is for levels, presets and runs: leave it out with {what}")
    agents = [name for name in AGENTS if is_package(name)]
    if what == "levels":
        splits = [of] if of else split_names()
        yield from dict.fromkeys(level for split in splits for level in level_names(split))
    elif what == "splits":
        yield from (f"{name:26}{len(level_names(name))} levels" for name in split_names())
    elif what == "agents":
        for name in agents:
            about = find_given(name).about
            yield f"{name:10}{about}" + (f" Shipped: --init {name}" if shipped(name) else "")
    elif what == "presets":
        for name in [of] if of else agents:
            yield f"{name:10}{', '.join(preset_names(find_given(name).PRESETS))}"
    else:
        yield from runs(Path(of or "runs"))


def runs(folder: Path) -> Iterator[str]:
    """The runs below a folder, and the step of each one's last checkpoint."""
    if not folder.is_dir():
        raise UserError(f"there are no runs: no folder {folder} (for another one: --of FOLDER)")
    for config in sorted(folder.rglob("config.json")):
        run = config.parent
        if CHECKPOINT.fullmatch(run.name) or run.parent.name in ("checkpoints", "agent"):
            continue
        saved = complete_checkpoints(run / "checkpoints")
        told = f"saved at {step_of(saved[-1]):,} steps" if saved else "no checkpoint"
        yield f"{run}  {told}"


@command
def main() -> None:
    """Run the command line."""
    config = parse_command(ListConfig, command="retro-agents list")
    for line in lines(config.what, config.of):
        print(printable(line))


if __name__ == "__main__":
    main()
