"""What simple players score on every act, under contest rules: references.csv.

Contest rules: an action holds for four frames; where it changes, the old one holds for one frame
more with probability 0.25; an episode ends with a life lost, the act's end, or 4,500 steps."""

import csv
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cartridge.levels import oracle
from cartridge.levels.console import ACTIONS, FRAME_SKIP, MASKS, Console, Status
from cartridge.levels.splits import level_names

FILE = Path(__file__).parent / "references.csv"
STICK = 0.25
STEP_LIMIT = 4500
Player = Callable[[Status, int, Random], int]
"""Chooses an action from where the hero is, the step's number and a source of chance."""


@dataclass(frozen=True)
class Reference:
    """A player's score on a level, over some episodes."""

    level: str
    agent: str
    episodes: int
    mean_return: float
    furthest_progress: float
    mean_steps: float
    finished: int


def random_player(status: Status, step: int, rng: Random) -> int:
    """Any action, all equally likely."""
    return rng.randrange(len(ACTIONS))


def hold_right(status: Status, step: int, rng: Random) -> int:
    """RIGHT, always."""
    return oracle.RIGHT


def run_and_jump(status: Status, step: int, rng: Random) -> int:
    """Runs to the right and jumps about once a second, held for three steps."""
    return oracle.JUMP if step % 15 < 3 else oracle.RIGHT


PLAYERS: dict[str, tuple[Player, int]] = {
    "random": (random_player, 20),
    "right": (hold_right, 3),
    "run_and_jump": (run_and_jump, 20),
}
"""Players and how many episodes each plays on a level."""


def episode(console: Console, level: str, player: Player, rng: Random) -> tuple[Status, int]:
    """Play once. Returns the end and the number of steps."""
    status = console.start(level)
    held: int | None = None
    for step in range(STEP_LIMIT):
        action = player(status, step, rng)
        sticks = held is not None and rng.random() < STICK
        if sticks and held is not None:
            console.frames(MASKS[held], 1)
            if not console.status().over:
                console.frames(MASKS[action], FRAME_SKIP - 1)
        else:
            console.frames(MASKS[action], FRAME_SKIP)
        held = action
        status = console.status()
        if status.over:
            return status, step + 1
    return status, STEP_LIMIT


def measure(console: Console, level: str, agent: str, *, episodes: int | None = None) -> Reference:
    """Let a player of PLAYERS play a level."""
    player, usual = PLAYERS[agent]
    count = usual if episodes is None else episodes
    rng = Random(f"{level}.{agent}")
    ends = [episode(console, level, player, rng) for _ in range(count)]
    return _reference(level, agent, ends)


def measure_oracle(console: Console, level: str) -> Reference:
    """The committed proof's score (without stickiness)."""
    actions = oracle.read_proof(level)
    return _reference(level, "oracle", [(oracle.replay(console, level, actions), len(actions))])


def _reference(level: str, agent: str, ends: list[tuple[Status, int]]) -> Reference:
    return Reference(
        level=level,
        agent=agent,
        episodes=len(ends),
        mean_return=round(statistics.mean(status.score for status, _ in ends), 1),
        furthest_progress=round(max(status.part for status, _ in ends), 4),
        mean_steps=round(statistics.mean(steps for _, steps in ends), 1),
        finished=sum(status.finished for status, _ in ends),
    )


def measure_all(console: Console) -> Iterator[Reference]:
    """Every player on every level."""
    for level in level_names():
        for agent in PLAYERS:
            yield measure(console, level, agent)
        yield measure_oracle(console, level)


def means(rows: Iterable[Reference]) -> dict[str, float]:
    """Every player's mean return over the levels."""
    returns: dict[str, list[float]] = {}
    for row in rows:
        returns.setdefault(row.agent, []).append(row.mean_return)
    return {agent: statistics.mean(values) for agent, values in returns.items()}


def write(rows: Iterable[Reference], path: Path = FILE) -> None:
    """Write the table."""
    names = list(Reference.__dataclass_fields__)
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(names)
        table.writerows([getattr(row, name) for name in names] for row in rows)
