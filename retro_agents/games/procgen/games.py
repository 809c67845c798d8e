"""The sixteen games: their modes, their fixed levels, and the ranges of their returns.

Source: Cobbe et al., arXiv:1912.01588, appendices C and D; openai/procgen, openai/train-procgen.
"""

from __future__ import annotations

from math import inf, nan
from typing import Final

from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest_text

PREFIX = "procgen:"
"""Prefix of the games in a specification of levels."""

ACTIONS = (
    *("LEFT DOWN", "LEFT", "LEFT UP", "DOWN", "", "UP", "RIGHT DOWN", "RIGHT", "RIGHT UP"),
    *("D", "A", "W", "S", "Q", "E"),
)
"""The keys of each action."""
NOTHING = ACTIONS.index("")
FRAMES_PER_SECOND = 15

SCORES: Final[dict[str, tuple[float, float, float, float]]] = {
    "bigfish": (1.0, 40.0, 0.0, 40.0),
    "bossfight": (0.5, 13.0, 0.5, 13.0),
    "caveflyer": (3.5, 12.0, 2.0, 13.4),
    "chaser": (0.5, 13.0, 0.5, 14.2),
    "climber": (2.0, 12.6, 1.0, 12.6),
    "coinrun": (5.0, 10.0, 5.0, 10.0),
    "dodgeball": (1.5, 19.0, 1.5, 19.0),
    "fruitbot": (-1.5, 32.4, -0.5, 27.2),
    "heist": (3.5, 10.0, 2.0, 10.0),
    "jumper": (3.0, 10.0, 1.0, 10.0),
    "leaper": (3.0, 10.0, 1.5, 10.0),
    "maze": (5.0, 10.0, 4.0, 10.0),
    "miner": (1.5, 13.0, 1.5, 20.0),
    "ninja": (3.5, 10.0, 2.0, 10.0),
    "plunder": (4.5, 30.0, 3.0, 30.0),
    "starpilot": (2.5, 64.0, 1.5, 35.0),
}
"""R_min and R_max of each game, easy then hard, as in the paper."""
REPOSITORY = {"jumper": (1.0, 10.0), "leaper": (1.5, 10.0)}
"""Easy ranges that differ in train_procgen/constants.py."""
GAMES = tuple(SCORES)
LARGEST: Final = {"bigfish": 40.0} | {game: 10.0 for game in GAMES if SCORES[game][1] == 10.0}
"""The largest return, where the rules limit it: six games pay 10 at their end, and nothing else."""

EXPLORATION = {
    "caveflyer": 1259048185,
    "climber": 1561126160,
    "coinrun": 1949448038,
    "heist": 876640971,
    "jumper": 1434825276,
    "leaper": 1318677581,
    "maze": 158988835,
    "ninja": 1123500215,
}
"""The level of each game that is hard to explore; its rules are those of hard."""
MODE_GAMES = {
    "easy": GAMES,
    "hard": GAMES,
    "extreme": ("chaser", "dodgeball", "leaper", "starpilot"),
    "memory": ("caveflyer", "dodgeball", "heist", "jumper", "maze", "miner"),
    "exploration": tuple(EXPLORATION),
}


def parse_games(levels: str) -> list[str]:
    """The games of "procgen:GAME[,GAME…]", in order; every game may have the prefix. Raises
    UserError if a game is unknown or named twice."""
    games = [name.strip().lower().removeprefix(PREFIX) for name in levels.split(",")]
    for game in games:
        if game not in GAMES:
            raise UserError(f"Procgen has no game {game!r}; {nearest_text(game, GAMES)}")
        if games.count(game) > 1:
            raise UserError(f"{levels} names {game} twice: give every game once")
    return games


def check_mode(games: list[str], mode: str) -> None:
    """Raises UserError if a game lacks the mode."""
    for game in games:
        if game not in MODE_GAMES[mode]:
            having = ", ".join(MODE_GAMES[mode])
            raise UserError(f"{game} has no distribution mode {mode!r}; these have it: {having}")


def normalised_scores(mean_return: float, game: str, mode: str) -> dict[str, float]:
    """(R − R_min) / (R_max − R_min) by the ranges of the paper and of the repository; nan in a mode
    without ranges."""
    paper = {"easy": SCORES[game][:2], "hard": SCORES[game][2:]}.get(mode, (nan, nan))
    ranges = {"paper": paper, "repository": paper}
    if mode == "easy":
        ranges |= {"repository": REPOSITORY.get(game, paper)}
    return {kind: (mean_return - low) / (high - low) for kind, (low, high) in ranges.items()}


def possible_returns(game: str) -> tuple[float, float]:
    """The least and the largest return of an episode, infinite where the rules do not limit it. In
    fruitbot wrong food costs points."""
    return -inf if game == "fruitbot" else 0.0, LARGEST.get(game, inf)
