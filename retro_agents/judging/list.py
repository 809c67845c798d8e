# PYTHON_ARGCOMPLETE_OK
"""Lists the values that flags accept: retro-agents list levels|splits|agents|presets|runs.

With --of NAME: the levels of one split, the presets of one agent, the runs in one folder.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from retro_agents.games.families import level_names
from retro_agents.games.retro.levels import rows_of
from retro_agents.games.retro.splits import SPLITS, split_names
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import complete_checkpoints, step_of
from retro_agents.ground.output import printable
from retro_agents.judging.tables import number
from retro_agents.run import provenance
from retro_agents.run.agents import find_given, known_agents, shipped
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import preset_names, read_file
from retro_agents.run.fields import positional
from retro_agents.run.metrics import read_columns


@dataclasses.dataclass(frozen=True)
class ListConfig:
    """List levels (of a split), splits, agents, presets (of an agent) or runs (in a folder)."""

    what: Literal["levels", "splits", "agents", "presets", "runs"] = positional("WHAT")
    """levels, splits, agents, presets or runs."""
    of: str = ""
    """Split whose levels, agent whose presets, or folder whose runs are listed; default: all, and
    the runs in runs/."""


def rows(split: str) -> list[str]:
    """The levels of a split, which may be of games that are not installed."""
    return [str(level) for level in rows_of(SPLITS / f"{split}.csv")]


def lines(what: str, of: str) -> Iterator[str]:
    """The lines to print. Raises UserError if the name is unknown, or if none may be given."""
    if of and what in ("splits", "agents"):
        raise UserError(f"--of is for levels, presets and runs: leave it out with {what}")
    agents = known_agents()
    if what == "levels":
        named = level_names(of) if of else [level for name in split_names() for level in rows(name)]
        yield from dict.fromkeys(named)
    elif what == "splits":
        yield from (f"{name:26}{len(rows(name))} levels" for name in split_names())
    elif what == "agents":
        for name in agents:
            about = find_given(name).about
            yield f"{name:10}{about}" + (f" Shipped: --init {name}" if shipped(name) else "")
    elif what == "presets" and of:
        folder = find_given(of).PRESETS
        for name in preset_names(folder):
            yield f"{name:24}{about_preset(folder / f'{name}.yaml')}".rstrip()
    elif what == "presets":
        for name in agents:
            yield f"{name:10}{', '.join(preset_names(find_given(name).PRESETS))}"
    else:
        yield from runs(Path(of or "runs"))


def about_preset(path: Path) -> str:
    """The first sentence of the comment with which a preset begins; "" if it has none."""
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    comment = list(takewhile(lambda line: line.startswith("#"), lines))
    whole = " ".join(line.lstrip("# ") for line in comment)
    return re.split(r"(?<=[a-z0-9)])\.(?:\s|$)", whole)[0]


def runs(folder: Path) -> Iterator[str]:
    """The runs below a folder, but for those in a contest's folder below it: agent, levels, the
    last checkpoint's step, the mean return of the last hundred episodes, and the time since the run
    began."""
    found = [path.parent for path in sorted(folder.rglob("config.json"))]
    found = [run for run in found if is_run(run, below=folder)]
    if not found:
        raise UserError(f"there are no runs in {folder}: give another folder by --of FOLDER")
    for run in found:
        saved = complete_checkpoints(run / "checkpoints")
        starts = provenance.read(run)
        facts = [str(starts[0].get("agent", ""))] if starts else []
        settings = settings_of(run / "config.json")
        facts += [str(settings["levels"])] if settings.get("levels") else []
        done, total = step_of(saved[-1]) if saved else 0, settings.get("timesteps")
        whole = f" of {total:,}" if isinstance(total, int) and total > done else ""
        facts.append(f"saved at {done:,}{whole} steps" if saved else "no checkpoint")
        facts += [f"mean return {number(mean)}"] if (mean := last_return(run)) is not None else []
        began = starts[0].get("begun") if starts else None
        with suppress(ValueError, TypeError):  # a damaged file tells no time
            facts += [age(datetime.fromisoformat(began))] if began else []
        yield f"{run}  {', '.join(facts)}"


def is_run(folder: Path, *, below: Path) -> bool:
    """Whether a folder with a config is a run, and none of a contest in a folder below `below`, nor
    a copy that Ray keeps of a population's run."""
    above = [below / part for part in [*folder.relative_to(below).parents][:-1]]
    saved = (folder / "meta.json").is_file() or folder.parent.name == "checkpoints"
    kept = re.fullmatch(r"checkpoint_\d+", folder.name)
    return not (saved or kept or any((each / "contest.json").is_file() for each in above))


def settings_of(config: Path) -> Mapping[str, Any]:
    """The settings in a run's config.json; {} if it cannot be read."""
    with suppress(UserError):
        return read_file(config, what=str(config))
    return {}


def last_return(run: Path) -> float | None:
    """The mean return of a run's last hundred episodes, if any has ended."""
    with suppress(UserError, OSError, TypeError):  # a foreign file may hold text
        returns = read_columns(run / "episodes.csv").get("r", ())
        if len(returns):
            return float(np.mean(returns[-100:]))
    return None


def age(began: datetime) -> str:
    """The time since then, in its largest unit."""
    seconds = max(0.0, (datetime.now(UTC) - began).total_seconds())
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"began {count} {unit}{'s' if count > 1 else ''} ago"
    return "began just now"


@command
def main() -> None:
    config = parse_command(ListConfig, command="retro-agents list")
    for line in lines(config.what, config.of):
        print(printable(line))


if __name__ == "__main__":
    main()
