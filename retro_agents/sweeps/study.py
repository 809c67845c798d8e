"""A study as data: kinds of runs, and the cells (kind × level × seed) that they consist of.

NAME.yaml beside this file holds one, or a file of one's own. In flags `<KIND>` is the folder of
that kind's run of the same level and seed, or of its only one; `<INPUT>` is an input of the study.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from retro_agents.games.families import level_names as names_of
from retro_agents.games.retro.integrations import games, rom_hash
from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest_text
from retro_agents.ground.ranges import Natural

REFERENCE = re.compile(r"<([^<>]+)>")


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to learn or to play."""

    run: str = ""
    """A module with --run-dir, --levels, --seed and --timesteps that leaves an episodes.csv; what
    left a checkpoint goes on with --resume."""
    flags: str | tuple[str, ...] = ""
    """Its further flags."""
    levels: str = ""
    """None: those of the study."""
    steps: Natural = 0
    """Agent steps of a run; 0: those of the study."""
    seeds: Natural = 0
    """Runs on each level; 0: as many as the study says."""
    together: bool = False
    """One run plays all levels, instead of one each."""
    last: tuple[str, ...] = ()
    """Columns of metrics.csv whose mean over the last tenth of a run is kept, with its return."""
    curve: tuple[str, ...] = ()
    """Columns of metrics.csv that are kept where none is empty, with the step."""

    @property
    def words(self) -> list[str]:
        """Its flags, word by word."""
        return (self.flags if isinstance(self.flags, str) else " ".join(self.flags)).split()


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is compared with what."""

    about: str = ""
    common: list[Any] = []
    """What kinds have in common, for anchors."""
    levels: str = ""
    seeds: Natural = 1
    steps: Natural = 0
    inputs: dict[str, str] = {}
    """Name -> checkpoint or run folder that has to be there."""
    kinds: dict[str, Kind] = {}
    """GROUP/NAME or NAME -> kind; the kinds of a group share a table."""
    keep: bool = False
    """Keep the checkpoints of complete runs that no other kind needs."""
    compare: tuple[tuple[str, str], ...] = ()
    """Pairs of kinds, of which the first is hoped to be better."""


class Cell(msgspec.Struct, frozen=True):
    """One run: of a kind, on a level or on all of them, with a seed."""

    kind: str
    level: str
    """GAME:STATE, or several with commas."""
    seed: int
    together: bool = False

    @property
    def name(self) -> str:
        """Of its folder, and of its line."""
        return f"{self.kind}/{'all' if self.together else short(self.level)}-{self.seed}"


def find(study: Study, wanted: Sequence[str]) -> None:
    """UserError: a name is neither a kind nor an input."""
    for name in wanted:
        if name not in study.kinds and name not in study.inputs:
            raise UserError(
                f"no kind or input {name!r}; {nearest_text(name, [*study.kinds, *study.inputs])}"
            )


def references(kind: Kind) -> list[str]:
    """The kinds and inputs that its flags name."""
    return REFERENCE.findall(" ".join(kind.words))


def chosen(study: Study, only: Sequence[str]) -> list[str]:
    """The kinds of those names or groups. UserError: there is none."""
    for name in only:
        if not any(matches(kind, name) for kind in study.kinds):
            raise UserError(f"no kind {name!r}; {nearest_text(name, list(study.kinds))}")
    return [kind for kind in study.kinds if any(matches(kind, name) for name in only)]


def matches(kind: str, name: str) -> bool:
    """Whether a kind has that name, or is of that group; "" is all."""
    return name in ("", kind) or kind.startswith(f"{name}/")


def needs(study: Study, kind: str) -> list[str]:
    """The kinds that have to be run before."""
    named = references(study.kinds[kind])
    return [name for name in dict.fromkeys(named) if name in study.kinds]


@cache
def level_names(levels: str) -> tuple[str, ...]:
    """GAME:STATE of all levels of a specification."""
    return tuple(names_of(levels))


def short(level: str) -> str:
    """GAME:STATE -> STATE."""
    return level.rpartition(":")[2]


def cells(study: Study, name: str) -> list[Cell]:
    """Of a kind, seed by seed."""
    kind = study.kinds[name]
    seeds = range(kind.seeds or study.seeds)
    levels = kind.levels or study.levels
    if kind.together:
        return [Cell(name, levels, seed, together=True) for seed in seeds]
    each = level_names(levels)
    if len({short(level) for level in each}) < len(each):
        raise UserError(f"{name}: two games have acts of one name; give each game its own kind")
    return [Cell(name, level, seed) for seed in seeds for level in each]


def needed(study: Study, cell: Cell, name: str) -> Cell:
    """The run of another kind that a cell builds on: of its level and seed, or the only one there
    is."""
    found = cells(study, name)
    fitting = [c for c in found if c.seed == cell.seed or len({c.seed for c in found}) == 1]
    fitting = [c for c in fitting if c.together or c.level == cell.level]
    if len(fitting) != 1:
        raise UserError(f"{cell.kind} needs one run of {name} for {cell.name}, not {len(fitting)}")
    return fitting[0]


def made_with(study: Study, cell: Cell) -> dict[str, Any]:
    """What a run depends on, wherever it lies: its arguments, and the games' ROMs."""
    kind = study.kinds[cell.kind]
    flags = REFERENCE.sub(lambda m: study.inputs.get(m[1], m[0]), " ".join(kind.words))
    levels = level_names(cell.level)
    named = {name.rpartition(":")[0] for name in levels}  # "" where a family has no games
    return {
        "run": kind.run,
        "flags": flags,
        "steps": kind.steps or study.steps,
        "levels": ",".join(levels),
        "seed": cell.seed,
        "roms": {game: rom_hash(game) for game in sorted(named & set(games()))},
    }


def made(study: Study, name: str) -> dict[str, Any]:
    """What all runs of a kind depend on."""
    own = made_with(study, cells(study, name)[0])
    return {part: value for part, value in own.items() if part not in ("levels", "seed")}
