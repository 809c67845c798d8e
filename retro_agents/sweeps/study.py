"""A study as data: kinds of runs, and the cells (kind × level × seed) that they consist of.

In flags, `<KIND>` is the folder of that kind's run with the same level and seed, or of its only
run; `<INPUT>` is an input of the study.
"""

import itertools
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from retro_agents.games.families import level_names as names_of
from retro_agents.games.retro.integrations import games, rom_hash
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import file_hash
from retro_agents.ground.names import nearest_text
from retro_agents.ground.ranges import Natural
from retro_agents.run.agents import AGENTS, AgentPackage, home_of, shipped
from retro_agents.run.checkpoint import latest_checkpoint
from retro_agents.run.config import flat, preset_names, read_file, read_yaml

REFERENCE = re.compile(r"<([^<>]+)>")


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to learn or to play."""

    run: str
    """A module with --run-dir, --levels, --seed and --timesteps that writes an episodes.csv; if it
    left a checkpoint, it is resumed with --resume."""
    flags: str | tuple[str, ...] = ""
    """Further flags of the kind, with quotes as in a shell."""
    levels: str = ""
    """Levels; default: the study's."""
    steps: Natural = 0
    """Agent steps of a run; 0: the study's."""
    seeds: Natural = 0
    """Runs on each level; 0: the study's number."""
    together: bool = False
    """One run plays all levels, instead of one run per level."""
    last: tuple[str, ...] = ()
    """Columns of metrics.csv whose mean over the last tenth of a run is kept besides its return."""
    curve: tuple[str, ...] = ()
    """Columns of metrics.csv whose rows without empty values are kept, with the step."""

    @property
    def words(self) -> list[str]:
        """The kind's flags as a list of words."""
        return shlex.split(self.flags if isinstance(self.flags, str) else " ".join(self.flags))

    @property
    def references(self) -> list[str]:
        """The kinds and inputs that its flags name."""
        return REFERENCE.findall(" ".join(self.words))


class Cell(msgspec.Struct, frozen=True):
    """One run: of a kind, on a level or on all of them, with a seed."""

    kind: str
    level: str
    """GAME:STATE, or several, separated by commas."""
    seed: int
    together: bool = False

    @property
    def name(self) -> str:
        """The name of its folder, and of its files beside that."""
        return f"{self.kind}/{'all' if self.together else short(self.level)}-{self.seed}"


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is compared: kinds, levels, seeds and steps."""

    about: str = ""
    common: list[Any] = []
    """Values that kinds share, for YAML anchors."""
    levels: str = ""
    seeds: Natural = 1
    steps: Natural = 0
    inputs: dict[str, str] = {}
    """Name -> checkpoint or run folder that must exist."""
    kinds: dict[str, Kind] = {}
    """GROUP/NAME or NAME -> kind; the kinds of a group share a table."""
    keep: bool = False
    """Keep the checkpoints of complete runs that no other kind needs."""
    compare: tuple[tuple[str, str], ...] = ()
    """Pairs of kinds, of which the first is expected to be better."""

    def chosen(self, only: Sequence[str]) -> list[str]:
        """The kinds of these names or groups; "" is all. Raises UserError if one has none."""
        found = {
            name: [kind for kind in self.kinds if name in ("", kind) or kind.startswith(f"{name}/")]
            for name in only
        }
        for name, kinds in found.items():
            if not kinds:
                raise UserError(f"no kind {name!r}; {nearest_text(name, self.kinds)}")
        return [kind for kind in self.kinds if any(kind in kinds for kinds in found.values())]

    def needs(self, kind: str) -> list[str]:
        """The kinds that have to run before this one."""
        return [name for name in dict.fromkeys(self.kinds[kind].references) if name in self.kinds]

    def cells(self, name: str) -> list[Cell]:
        """The runs of a kind, seed by seed."""
        kind = self.kinds[name]
        seeds = range(kind.seeds or self.seeds)
        levels = kind.levels or self.levels
        if kind.together:
            return [Cell(name, levels, seed, together=True) for seed in seeds]
        each = [*dict.fromkeys(level_names(levels))]
        if len({short(level) for level in each}) < len(each):
            raise UserError(f"{name}: two games have acts of one name; give each game its own kind")
        return [Cell(name, level, seed) for seed in seeds for level in each]

    def needed(self, cell: Cell, name: str) -> Cell:
        """The run of another kind that a cell needs: with its level and seed, or the only one."""
        found = self.cells(name)
        fitting = [c for c in found if c.seed == cell.seed or len({c.seed for c in found}) == 1]
        fitting = [c for c in fitting if c.together or c.level == cell.level]
        if len(fitting) != 1:
            count = f"one run of {name} for {cell.name}, not {len(fitting)}"
            raise UserError(f"{cell.kind} needs {count}")
        return fitting[0]

    def made_with(self, cell: Cell) -> dict[str, Any]:
        """Everything that a run depends on except its folder: arguments, shipped weights, and the
        games' ROMs."""
        kind = self.kinds[cell.kind]
        flags = REFERENCE.sub(lambda m: self.inputs.get(m[1], m[0]), " ".join(kind.words))
        levels = level_names(cell.level)
        named = {name.rpartition(":")[0] for name in levels}  # "" for families without games
        return {
            "run": kind.run,
            "flags": flags,
            "weights": shipped_weights(kind.run, flags.split()),
            "steps": kind.steps or self.steps,
            "levels": ",".join(levels),
            "seed": cell.seed,
            "roms": {game: rom_hash(game) for game in sorted(named & set(games()))},
        }

    def made(self, kind: str) -> dict[str, Any]:
        """Everything that all runs of a kind depend on."""
        own = self.made_with(self.cells(kind)[0])
        return {part: value for part, value in own.items() if part not in ("levels", "seed")}


def shell_words(flags: str) -> list[str]:
    """The words of --flags, quoted as in a shell. Raises UserError if a quote is not closed."""
    try:
        return shlex.split(flags)
    except ValueError as error:
        raise UserError(f"--flags {flags}: {error}") from None


def shipped_weights(module: str, flags: Sequence[str]) -> dict[str, str]:
    """Agent -> hash of its shipped weights, for those that these flags, their preset or the default
    of --init name."""
    words = [part for flag in flags for part in flag.split("=", 1)]
    agent = module.partition(".")[0]
    home = home_of(agent)
    if home and agent in AGENTS and "--init" not in words:  # ES starts from shipped weights
        words.append(AgentPackage(agent, home).Config().run.init)
    for flag, preset in itertools.pairwise([*words]):
        if home and flag == "--preset":
            values = read_file(home / "presets" / f"{preset}.yaml", what="preset")
            words += map(str, flat(values).values())
    found = {name: shipped(name) for name in (word.removesuffix("/pretrained") for word in words)}
    return {
        name: file_hash(latest_checkpoint(folder) / "meta.json")
        for name, folder in sorted(found.items())
        if folder
    }


def read_study(name: str, folder: Path) -> Study:
    """A study by its name in a folder, or from a file. Raises UserError if it is bad."""
    path = named_file(name, folder, what="study")
    try:
        study = msgspec.convert(read_yaml(path.read_text(encoding="utf-8")), Study)
        wanted = [kind.references for kind in study.kinds.values()]
    except (OSError, yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())
        said += "; quote flags that have commas" if "at `key` in" in said else ""
        raise UserError(f"cannot read study {path}: {said}") from None
    known = [*study.kinds, *study.inputs]
    for one in itertools.chain(*wanted, *study.compare):
        if one not in known:
            raise UserError(f"no kind or input {one!r}; {nearest_text(one, known)}")
    return study


def named_file(name: str, folder: Path, *, what: str) -> Path:
    """NAME.yaml in a folder, or FILE.yaml itself. Raises UserError if nothing has that name."""
    known = preset_names(folder)
    if name.lower().endswith(".yaml") or name in known:
        return folder / f"{name}.yaml" if name in known else Path(name)
    elsewhere = f"give a FILE.yaml; a clone of the project has those with names in {folder}"
    advice = f"{nearest_text(name, known)} (or a FILE.yaml)" if known else elsewhere
    raise UserError(f"no {what} {name!r}; {advice}")


@cache
def level_names(levels: str) -> tuple[str, ...]:
    """GAME:STATE of each level of a specification."""
    return tuple(names_of(levels))


def short(level: str) -> str:
    """GAME:STATE -> STATE."""
    return level.rpartition(":")[2]
