"""A test of sight: what an agent earns by its own pictures, by those of other moments, and by none.

*Seeing*, each row acts on its own picture. *Shuffled*, it acts on that of another row, now or some
steps ago. *Blind*, actions are drawn independently, each as often as the agent chose it while it
saw. An agent sees where the first earns more than the other two.
"""

from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import VectorEnv, row_seeds
from retro_agents.contract.episodes import Act, play_episodes
from retro_agents.contract.policy import Actions, Flags, Images, Policy
from retro_agents.ground.errors import UserError

PLAYS = ("seeing", "shuffled", "blind")
ROWS = 16
"""The most environments side by side, unless there are more levels: those whose episodes end first
go on in vain until the last has."""
PATIENCE = 300
"""Agent steps without a new highest return after which a run's own test cuts an episode, where rows
begin by themselves."""
MOMENTS, APART = 16, 16
"""Pictures of each row that are kept to be shown to others, and agent steps between two: rows that
play one level in step would else be shown nearly their own."""


@dataclass(frozen=True)
class Sight:
    """What came of a test."""

    played: dict[str, list[dict[str, Any]]]
    """Episodes of each of PLAYS, row by row, as many of each."""
    rows: int
    frequencies: NDArray[np.float64]
    """Share of each action while it saw, [A]."""

    def returns(self, play: str) -> NDArray[np.float64]:
        """Of one of PLAYS, [N,K]: K episodes of N rows."""
        return np.array([episode["r"] for episode in self.played[play]]).reshape(self.rows, -1)


class Shuffled:
    """What rows are shown instead of their own pictures."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.calls = rng, 0
        self.kept: deque[Images] = deque(maxlen=MOMENTS)

    def __call__(self, obs: Images) -> Images:
        """obs uint8 [N,C,H,W] -> each row's picture is another row's, now or earlier, [N,C,H,W]."""
        if self.calls % APART == 0:
            self.kept.append(obs)
        self.calls += 1
        cycle = self.rng.permutation(len(obs))
        others = np.empty_like(cycle)
        others[cycle] = np.roll(cycle, 1)  # one cycle through all rows: none is its own
        moment = self.rng.integers(len(self.kept) + 1)
        return (obs if moment == len(self.kept) else self.kept[moment])[others]


def check_rows(rows: int, *, episodes: int) -> None:
    """UserError: there is one row only."""
    if rows < 2:
        raise UserError(
            f"a test of sight shows rows the pictures of others, and {episodes} episodes make one "
            f"row here: give more levels, or a number that one of 2 to {ROWS} divides"
        )


def measure(
    policy: Policy,
    make: Callable[[], VectorEnv],
    *,
    episodes: int,
    seed: int,
    explore: bool,
    patience: int = 0,
    on_play: Callable[[], None] = lambda: None,
) -> Sight:
    """Play `episodes` whole ones in each of the three ways, as many of each row.

    make: the environments, anew for each way, so that all play the same levels. explore: it acts as
    it does while it learns, else as well as it can. patience: as `play_episodes` has it, where rows
    begin by themselves. on_play: called after each way. UserError: as `check_rows`.
    """
    rng = np.random.default_rng(seed)
    shuffled, counts = Shuffled(rng), np.zeros(0)

    def own(obs: Images, *, starts: Flags) -> Actions:
        actions = policy.act(obs, explore=explore, starts=starts)
        np.add.at(counts, actions, 1)
        return actions

    def others(obs: Images, *, starts: Flags) -> Actions:
        return policy.act(shuffled(obs), explore=explore, starts=starts)

    def none(obs: Images, *, starts: Flags) -> Actions:
        return rng.choice(len(counts), size=len(obs), p=counts / counts.sum())

    acts: tuple[Act, ...] = (own, others, none)
    played = {}
    (begin,) = row_seeds(seed, 1)
    for name, act in zip(PLAYS, acts, strict=True):
        with closing(make()) as envs:
            check_rows(envs.num_envs, episodes=episodes)
            counts = counts if len(counts) else np.zeros(envs.env_spec.actions)
            cut = patience if envs.resets_rows else 0
            played[name] = play_episodes(act, envs, episodes=episodes, seed=begin, patience=cut)
        on_play()
    return Sight(played, envs.num_envs, counts / counts.sum())
