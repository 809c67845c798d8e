"""What a generation is made of: noise that any process can draw, and what came of it.

Nothing is stored: noise is a function of (run seed, generation, pair), so that processes exchange
numbers of members and returns, and any of them can draw any member's noise again.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

BLOCK = 16_384
"""Numbers of a pair's noise that come from one stream."""
RECORD = np.dtype(
    [
        ("task", "<u4"),
        ("steps", "<u4"),
        ("total", "<f4"),
        ("r", "<f4"),
        ("progress", "<f4"),
        ("finished", "?"),
    ],
    align=False,
)
"""What travels of an episode, 21 bytes: its number in the generation, agent steps, the sum of its
rewards, the contest's return, and how far it came."""

Floats = NDArray[np.float32]


def stream(seed: int, generation: int, pair: int, *, block: int = 0) -> np.random.Generator:
    """The random numbers of one block of one pair, whatever was drawn before, and wherever.

    Philox maps a counter to random bits by a key. Run and generation are the key; pair and block
    are the counter's upper words, the lower two count the draws: streams cannot meet.
    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """
    key = np.array([seed, generation], np.uint64)
    counter = np.array([0, 0, block, pair], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


@dataclass(frozen=True)
class Noise:
    """The noise of a run on a flat vector of `size` weights: standard normal, in blocks of BLOCK.

    seed: the run's.
    """

    seed: int
    size: int

    @property
    def blocks(self) -> int:
        """Blocks of a pair's noise."""
        return -(-self.size // BLOCK)

    def block(self, generation: int, pair: int, number: int) -> Floats:
        """Block `number` of a pair's noise."""
        count = min(BLOCK, self.size - number * BLOCK)
        rng = stream(self.seed, generation, pair, block=number)
        return rng.standard_normal(count, np.float32)

    def whole(self, generation: int, pair: int) -> Floats:
        """All of a pair's noise, [size]."""
        return np.concatenate([self.block(generation, pair, n) for n in range(self.blocks)])


@dataclass(frozen=True)
class Task:
    """One episode of a generation. pair: −1 for the current policy. sign: 1 noise added, −1 taken
    off, 0 none. slot: which of the generation's levels."""

    pair: int
    sign: int
    slot: int

    @property
    def member(self) -> int:
        """0: the current policy; 1, 2: the first pair with noise added and taken off; 3, 4, …"""
        return 0 if self.sign == 0 else 2 * self.pair + (1 if self.sign > 0 else 2)


@dataclass(frozen=True)
class Plan:
    """The episodes of a generation: first those of the current policy, one on each level, then two
    of each pair, both on one level.

    seed, generation: of the run. slots: numbers of the levels. evaluates: whether the current
    policy plays.
    """

    seed: int
    generation: int
    pairs: int
    slots: tuple[int, ...]
    evaluates: bool

    @property
    def first(self) -> int:
        """The number of the first pair's first episode."""
        return len(self.slots) if self.evaluates else 0

    @cached_property
    def turns(self) -> NDArray[np.int64]:
        """The slot that each pair plays, [pairs]; a generation goes on where the last one ended, so
        that all levels have their turn."""
        return (self.generation * self.pairs + np.arange(self.pairs)) % len(self.slots)

    def __len__(self) -> int:
        return self.first + 2 * self.pairs

    def task(self, number: int) -> Task:
        """The episode of that number."""
        if number < self.first:
            return Task(-1, 0, number)
        pair, second = divmod(number - self.first, 2)
        return Task(pair, -1 if second else 1, int(self.turns[pair]))

    def episode_seed(self, task: Task) -> int:
        """Of chance in the episode: the same for both members of a pair."""
        entropy = [self.seed, self.generation, task.pair + 1, task.slot, 0]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])

    def returns(self, records: NDArray[np.void]) -> tuple[Floats, Floats]:
        """Records of all episodes, in their order -> returns of the pairs [pairs,2] (noise added,
        taken off), and of the current policy [slots], or [0]."""
        whole = np.array_equal(records["task"], np.arange(len(self)))
        assert whole, "an episode is missing, or there twice"
        totals = records["total"]
        return totals[self.first :].reshape(self.pairs, 2), totals[: self.first]


def draw_levels(seed: int, generation: int, *, levels: int, count: int) -> tuple[int, ...]:
    """Numbers of the levels that a generation plays: `count` of them (0: all), in rising order."""
    if count == 0 or count >= levels:
        return tuple(range(levels))
    rng = np.random.default_rng([seed, generation, 1])
    return tuple(sorted(rng.choice(levels, count, replace=False).tolist()))
