"""The rhythm explorer: runs right and jumps in a rhythm; plays scripts when it gets stuck."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
import yaml
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError
from retro_agents.run.config import read_yaml

SCRIPTS = Path(__file__).parent / "scripts"
PERIODS, HOLDS = (10, 22), (2, 5)
"""Agent steps between jumps, and length of a jump: each drawn uniformly for an episode."""
STILL_REWARD, STILL_STEPS = 2.0, 6
"""A smaller absolute reward means standing still; after so many such steps, scripts start."""
STUCK_STEPS = 40
"""Steps without a new furthest point after which the explorer has been stuck for long."""

Actions = NDArray[np.uint8]
Rng = np.random.Generator
Range = tuple[int, int]


class Moves(NamedTuple):
    """The actions that exploration consists of."""

    right: int
    left: int
    right_jump: int
    left_jump: int
    wait: int
    names: tuple[str, ...]
    """Names of all actions, in the order of their numbers."""


class ScriptPart(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A part of a script: an action that is held, or further parts."""

    press: str | Annotated[dict[str, float], msgspec.Meta(min_length=1)] = ""
    steps: Range = (1, 1)
    later: Range | None = None
    maybe: float = 1.0
    repeat: Range = (1, 1)
    parts: tuple["ScriptPart", ...] = ()


class Script(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Actions to try when the explorer is stuck; `scripts/seven-buttons.yaml` explains how to write
    a script."""

    name: str
    chance: tuple[float, float]
    parts: tuple[ScriptPart, ...]


Scripts = Annotated[tuple[Script, ...], msgspec.Meta(min_length=1)]


@lru_cache
def load_scripts(source: str, names: tuple[str, ...]) -> tuple[Script, ...]:
    """The scripts in a YAML file, or of that name in `jerk/scripts`. Raises UserError if there are
    none, or if one presses an action that is not among `names`."""
    shipped = SCRIPTS / f"{source}.yaml"
    path = shipped if shipped.exists() else Path(source)
    try:
        found = msgspec.convert(read_yaml(path.read_text(encoding="utf-8")), Scripts)
    except OSError as error:
        raise UserError(
            f"cannot read the scripts {source}: {error.strerror}; give a file, or "
            + ", ".join(sorted(one.stem for one in SCRIPTS.glob("*.yaml")))
        ) from None
    # msgspec's errors, bytes that are no text, and parts that hold themselves.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path} holds no scripts: {' '.join(str(error).split())}") from None
    for script in found:
        if flaw := flaw_of(script, names):
            raise UserError(f"{path}: script {script.name} {flaw}")
    return found


def flaw_of(script: Script, names: Sequence[str]) -> str:
    """What a script does wrong; "" if nothing. names: of the actions."""
    parts, odds, unknown = list(script.parts), [*script.chance], set[str]()
    for part in parts:
        parts += part.parts
        odds += [part.maybe, *odds_of(part).values()]
        unknown |= set() if part.parts else odds_of(part).keys() - {*names}
        if part.parts and (part.press or part.steps != (1, 1) or part.later):
            return "has a part with both parts and press, steps or later: give one of them"
        for low, high in filter(None, (part.steps, part.later, part.repeat)):
            if not 0 <= low <= high:
                return f"has [{low}, {high}]: expected the minimum and the maximum, both 0 or more"
    if not all(0.0 <= number < math.inf for number in odds):
        return "has a chance or odds other than finite numbers of 0 or more"
    if unknown:
        these = ", ".join(names)
        return f"presses {min(unknown)!r}, which is no action here; these are: {these}"
    return ""


def odds_of(part: ScriptPart) -> dict[str, float]:
    """The actions that a part may press, with their odds."""
    return {part.press: 1.0} if isinstance(part.press, str) else part.press


def play_script(
    scripts: Sequence[Script], rng: Rng, *, late: float, names: Sequence[str]
) -> list[int]:
    """Draw a script and its actions. late: 0 if just stuck, up to 1 if stuck for long."""
    chances = [a + (b - a) * late for a, b in (script.chance for script in scripts)]
    return play_parts(scripts[draw_weighted(chances, rng)].parts, rng, late=late, names=names)


def play_parts(
    parts: Sequence[ScriptPart], rng: Rng, *, late: float, names: Sequence[str]
) -> list[int]:
    """Draw the actions of a script's parts."""
    actions: list[int] = []
    for part in parts:
        if part.maybe < 1.0 and rng.random() >= part.maybe:
            continue
        for _ in range(draw(part.repeat, rng)):
            if part.parts:
                actions += play_parts(part.parts, rng, late=late, names=names)
                continue
            odds = odds_of(part)
            pressed = draw_weighted([*odds.values()], rng) if len(odds) > 1 else 0
            fewest, most = part.steps
            if part.later is not None:
                fewest += int((part.later[0] - fewest) * late)
                most += int((part.later[1] - most) * late)
            actions += [names.index([*odds][pressed])] * draw((fewest, most), rng)
    return actions


def draw(between: Range, rng: Rng) -> int:
    """A random whole number; both ends are included."""
    return between[0] + int(rng.random() * (between[1] - between[0] + 1))


def draw_weighted(weights: Sequence[float], rng: Rng) -> int:
    """A random index, drawn with these weights."""
    ends = np.cumsum(weights)
    drawn = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
    return min(drawn, len(ends) - 1)


@dataclass
class Rhythm:
    """The explorer in one episode: its rhythm and its state. Durations are in agent steps."""

    period: int
    hold: int
    clock: int
    queue: list[int] = field(default_factory=list)
    """The rest of the current script, last action first."""
    still: int = 0
    """Consecutive steps without movement."""
    total: float = 0.0
    """Return so far, including the steps that a plan played."""
    furthest: float = 0.0
    since: int = 0
    """Steps since the furthest point."""

    @classmethod
    def drawn(cls, rng: Rng) -> "Rhythm":
        """A random rhythm for an episode; it may start at any of its phases."""
        period = draw(PERIODS, rng)
        return cls(period, draw(HOLDS, rng), int(rng.random() * period))

    @property
    def stuck(self) -> bool:
        """Whether a script is running, or due if there are scripts."""
        return bool(self.queue) or self.still >= STILL_STEPS

    def next_action(self, rng: Rng, *, moves: Moves, scripts: str) -> int:
        """The next action: of the running script, of a new one if it is stuck, or of the rhythm.
        scripts: as for `load_scripts`; empty: none."""
        if scripts and self.stuck and not self.queue:
            late, table = min(1.0, self.since / STUCK_STEPS), load_scripts(scripts, moves.names)
            self.queue = play_script(table, rng, late=late, names=moves.names)[::-1]
        if self.queue:
            return self.queue.pop()
        beat = self.clock % self.period
        self.clock += 1
        return moves.right_jump if beat < self.hold else moves.right

    def add(self, reward: float) -> None:
        """Take in the reward of the last step, whichever player made it."""
        self.still = self.still + 1 if abs(reward) < STILL_REWARD else 0
        self.total += reward
        self.since += 1
        if self.total > self.furthest + 1.0:
            self.furthest, self.since = self.total, 0
