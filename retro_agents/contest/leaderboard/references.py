"""Reference rows: players that see nothing, or the game's variables, and need no process."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

import numpy as np

from retro_agents.contest.leaderboard.entry import ORACLE, Entry
from retro_agents.contest.leaderboard.play import Played
from retro_agents.contest.leaderboard.season import SEEDS, Season
from retro_agents.contest.leaderboard.tape import Taped
from retro_agents.games.retro.references import REFERENCES
from retro_agents.games.retro.wrappers import Discretise
from retro_agents.ground.progress import Progress

EXPERT = "cartridge.levels.season:oracle"
"""Makes the oracle's players, as MODULE:NAME; imported on demand."""
BLIND = np.zeros((1, 1), np.uint8)
Player = Callable[[Taped, bool], int]
"""The environment, and whether an episode begins -> one of the seven actions."""


def is_reference(entry: Entry) -> bool:
    """Whether an entry is one of these players."""
    return entry.facts.agent in {ORACLE, *REFERENCES}


def reference_runs(entry: Entry, season: Season) -> dict[tuple[str, int], Played]:
    """Its runs, whose cost is not measured."""
    found: dict[tuple[str, int], Played] = {}
    with Progress(len(season.acts) * SEEDS, f"score {entry.name}", unit="runs") as progress:
        for act in season.acts:
            players = players_of(entry.facts.agent, season, act)
            for seed, player in players.items():
                found[act, seed] = run_of(season, act, player, steps=entry.steps, seed=seed)
                progress.update(len(found))
    return found


def players_of(name: str, season: Season, act: str) -> Mapping[int, Player]:
    """The player of each seed."""
    if name == ORACLE:
        return dict.fromkeys(range(SEEDS), resolve_name(EXPERT)(season, act))
    return {seed: blind(name, season.entry_seed(act, seed)) for seed in range(SEEDS)}


def blind(name: str, seed: int) -> Player:
    """A reference player that sees nothing."""
    policy = REFERENCES[name](seed)
    return lambda _, begins: int(policy.act(BLIND, starts=np.array([begins]))[0])


def run_of(season: Season, act: str, player: Player, *, steps: int, seed: int) -> Played:
    """Let a player play a run in this process."""
    env, over = Taped(season, act), True
    actions = Discretise(env, actions=7)
    while len(env.masks) < steps:
        begins = over
        if begins:
            env.reset(seed=None if env.masks else season.sticky_seed(act, seed))
        *_, terminated, truncated, _ = actions.step(player(env, begins))
        over = terminated or truncated
    return Played(env.masks, 0.0, 0.0, 0)
