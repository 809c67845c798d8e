"""A test of sight: an agent's returns with its own frames, with frames of other moments, and blind.

*Seeing*, each row acts on its own frame. *Shuffled*, it acts on another row's frame, from now or
some steps ago. *Blind*, actions are drawn independently, at the frequencies with which the agent
chose them while seeing. An agent uses what it sees if *seeing* earns more than both others.
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
from retro_agents.contract.policy import Actions, Flags, Images, Play, Policy

PLAYS = ("seeing", "shuffled", "blind")
ROWS = 16
"""Maximum number of parallel environments, unless there are more levels: rows that have played
their episodes play on in vain until the last one has."""
PATIENCE = 300
"""Agent steps without a new highest return after which a run's own test, or `choose-play`, cuts an
episode, where single rows can be reset."""
MOMENTS, APART = 16, 16
"""Number of frames of each row kept for the others, and agent steps between two of them: rows that
play one level in step would otherwise be shown almost their own frame."""


@dataclass(frozen=True)
class Sight:
    """The result of a test."""

    played: dict[str, list[dict[str, Any]]]
    """Episodes of each of PLAYS, row by row, equally many of each row."""
    rows: int
    frequencies: NDArray[np.float64]
    """Share of each action while seeing, [A]."""

    def returns(self, play: str) -> NDArray[np.float64]:
        """Returns of one of PLAYS, [N,K]: K episodes of N rows."""
        return np.array([episode["r"] for episode in self.played[play]]).reshape(self.rows, -1)


class Shuffled:
    """Shows rows other frames than their own."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.calls = rng, 0
        self.kept: deque[Images] = deque(maxlen=MOMENTS)

    def __call__(self, obs: Images) -> Images:
        """obs uint8 [N,C,H,W] -> for each row another row's frame, current or earlier,
        [N,C,H,W]."""
        if self.calls % APART == 0:
            self.kept.append(obs)
        self.calls += 1
        cycle = self.rng.permutation(len(obs))
        others = np.empty_like(cycle)
        others[cycle] = np.roll(cycle, 1)  # one cycle through all rows, so no row gets its own
        moment = self.rng.integers(len(self.kept) + 1)
        return (obs if moment == len(self.kept) else self.kept[moment])[others]


def measure(
    policy: Policy,
    make: Callable[[], VectorEnv],
    *,
    episodes: int,
    seed: int,
    play: Play | None,
    patience: int = 0,
    on_play: Callable[[], None] = lambda: None,
) -> Sight:
    """Play `episodes` whole episodes in each of the three ways, equally many of each row.

    make: makes two rows or more for each way, so that all play the same levels. play: as for
    `Policy.act`. patience: as for `play_episodes`. on_play: called after each way.
    """
    rng = np.random.default_rng(seed)
    shuffled, counts = Shuffled(rng), np.zeros(0)

    def own(obs: Images, *, starts: Flags) -> Actions:
        actions = policy.act(obs, play=play, starts=starts)
        np.add.at(counts, actions, 1)
        return actions

    def others(obs: Images, *, starts: Flags) -> Actions:
        return policy.act(shuffled(obs), play=play, starts=starts)

    def none(obs: Images, *, starts: Flags) -> Actions:
        return rng.choice(len(counts), size=len(obs), p=counts / counts.sum())

    acts: tuple[Act, ...] = (own, others, none)
    played = {}
    (begin,) = row_seeds(seed, 1)
    for name, act in zip(PLAYS, acts, strict=True):
        with closing(make()) as envs:
            assert envs.num_envs > 1, "rows are shown the frames of others"
            counts = counts if len(counts) else np.zeros(envs.env_spec.actions)
            played[name] = play_episodes(
                act, envs, episodes=episodes, seed=begin, patience=patience
            )
        on_play()
    return Sight(played, envs.num_envs, counts / counts.sum())
