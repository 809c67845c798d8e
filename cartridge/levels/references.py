"""Scores of the reference players on every act of a cartridge, for references.csv.

Contest rules: an action holds for four frames; when it changes, the old one holds for one more
frame with probability 0.25; an episode ends with a lost life, the act's end, or 4,500 steps. The
players use the native engine, which equals the emulator frame by frame (a test compares them)."""

import csv
import io
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from cartridge.levels import oracle
from cartridge.levels.cells import CELL, Act
from cartridge.levels.chunks import PIECES
from cartridge.levels.console import Status
from cartridge.levels.simulator import Simulator
from cartridge.levels.zones import name_of
from retro_agents.games.retro import bramble
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.files import write_text

STICK = 0.25
STEP_LIMIT = 4500
EPISODES = {"random": 20, "hold-right": 5, "run-and-jump": 20}
"""Episodes of each player of retro_agents.games.retro.references on an act."""
AHEAD = 64
"""Pixels ahead of a player within which an obstacle counts as reached."""
Player = Callable[[Status], int]
"""Chooses an action from the hero's status. A new one is made for every episode."""


@dataclass(frozen=True)
class Reference:
    """A player's score on an act, over some episodes."""

    level: str
    agent: str
    episodes: int
    mean_return: float
    furthest_progress: float
    mean_steps: float
    finished: int
    obstacle: str
    """The chunk at the furthest point; empty if the act was finished."""
    kind: str
    """The skill that the chunk needs: left, wait, speed, or none."""


@dataclass(frozen=True)
class End:
    """The end of an episode: its last status, its steps, and the furthest x of the hero."""

    status: Status
    steps: int
    furthest: int


def blind_actions(name: str, *, seed: int) -> list[int]:
    """All actions of a blind player in an episode, which do not depend on the game."""
    policy, picture = REFERENCES[name](seed), np.zeros((1, 1), np.uint8)
    return [int(policy.act(picture)[0]) for _ in range(STEP_LIMIT)]


def blind_episode(simulator: Simulator, level: str, actions: Sequence[int], rng: Random) -> End:
    """Play given actions under contest rules; rng decides where the old action sticks."""
    simulator.start(level)
    stuck = [rng.random() < STICK for _ in actions]
    status, steps = simulator.play(actions, stuck=stuck)
    return End(status, steps, simulator.furthest())


def episode(simulator: Simulator, level: str, player: Player, rng: Random) -> End:
    """Play an episode under contest rules with a player that reads the hero's status."""
    status = simulator.start(level)
    for step in range(STEP_LIMIT):
        late = rng.random() < STICK
        status = simulator.play((player(status),), stuck=(late,))[0]
        if status.over:
            return End(status, step + 1, simulator.furthest())
    return End(status, STEP_LIMIT, simulator.furthest())


def measure(simulator: Simulator, act: Act, agent: str) -> Reference:
    """Play a blind player's episodes on an act, each with its own seed."""
    ends = []
    for number in range(EPISODES[agent]):
        rng = Random(f"{name_of(act)}.{agent}.{number}")
        actions = blind_actions(agent, seed=number)
        ends.append(blind_episode(simulator, name_of(act), actions, rng))
    return summary(act, agent, ends)


def measure_oracle(simulator: Simulator, act: Act, actions: list[int]) -> Reference:
    """The score of a proof (without stickiness)."""
    status = oracle.replay(simulator, name_of(act), actions)
    return summary(act, "oracle", [End(status, len(actions), status.x)])


def summary(act: Act, agent: str, ends: Sequence[End]) -> Reference:
    """The row of the table for some episodes of a player."""
    finished = sum(end.status.finished for end in ends)
    furthest = max(end.furthest for end in ends)
    name = "" if finished else obstacle_at(act, furthest)
    part = (furthest - act.start[0]) / (act.end_x - act.start[0])
    return Reference(
        level=name_of(act),
        agent=agent,
        episodes=len(ends),
        mean_return=round(statistics.mean(end.status.score for end in ends), 1),
        furthest_progress=round(min(max(part, 0.0), 1.0), 4),
        mean_steps=round(statistics.mean(end.steps for end in ends), 1),
        finished=finished,
        obstacle=name,
        kind=PIECES[name].kind if name else "",
    )


def obstacle_at(act: Act, x: int) -> str:
    """The chunk that begins shortly after x, or contains x."""
    reached = [name for name, column in act.chunks if column * CELL <= x + AHEAD]
    return reached[-1] if reached else act.chunks[0][0]


def measure_blind(simulator: Simulator, act: Act) -> list[Reference]:
    """Measure all players of retro_agents.games.retro.references on an act."""
    return [measure(simulator, act, agent) for agent in REFERENCES]


def means(rows: Iterable[Reference]) -> dict[str, float]:
    """Every player's mean return over the acts."""
    returns: dict[str, list[float]] = {}
    for row in rows:
        returns.setdefault(row.agent, []).append(row.mean_return)
    return {agent: statistics.mean(values) for agent, values in returns.items()}


def write(rows: Iterable[Reference], path: Path = bramble.REFERENCES) -> None:
    """Write the table. Raises UserError if it cannot be written."""
    names = list(Reference.__dataclass_fields__)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(names)
    table.writerows([getattr(row, name) for name in names] for row in rows)
    write_text(path, text.getvalue())
