"""A generation's noise, episodes and results.

Noise is not stored: it is a function of (run seed, generation, pair). Processes exchange only
numbers of members and returns, and each can recompute any member's noise.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

BLOCK = 16_384
"""Numbers of a pair's noise that come from one random stream."""
RECORD = np.dtype(
    [
        ("task", "<u4"),
        ("steps", "<u4"),
        ("total", "<f4"),
        ("r", "<f4"),
        ("progress", "<f4"),
        ("finished", "?"),
    ]
)
"""The record of an episode that processes exchange, 21 bytes: its number in the generation, agent
steps, sum of rewards, the contest's return, and progress."""

Floats = NDArray[np.float32]


def stream(seed: int, generation: int, pair: int, *, block: int = 0) -> np.random.Generator:
    """The random numbers of one block of one pair, the same in every process and at any time.

    Philox maps a counter to random bits by a key. Run and generation are the key. Pair and block
    are the counter's upper words; the lower two count the draws, so streams cannot overlap.
    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """
    key = np.array([seed, generation], np.uint64)
    counter = np.array([0, 0, block, pair], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


@dataclass(frozen=True)
class Noise:
    """A run's standard normal noise for a flat vector of `size` weights, in blocks of BLOCK.

    seed: the run's.
    """

    seed: int
    size: int

    @property
    def blocks(self) -> int:
        """Number of blocks in a pair's noise."""
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
    """One episode of a generation. pair: −1 for the current policy. sign: 1 adds the noise, −1
    subtracts it, 0 has none. slot: index among the generation's levels."""

    pair: int
    sign: int
    slot: int

    @property
    def member(self) -> int:
        """0: the current policy; 1, 2: the first pair, noise added and subtracted; 3, 4, …"""
        return 0 if self.sign == 0 else 2 * self.pair + (1 if self.sign > 0 else 2)


@dataclass(frozen=True)
class Plan:
    """The episodes of a generation: first one of the current policy on each level, then two of
    each pair, both on the same level.

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
        """The slot that each pair plays, [pairs]. A generation continues where the last one ended,
        so that all levels take turns."""
        return (self.generation * self.pairs + np.arange(self.pairs)) % len(self.slots)

    def __len__(self) -> int:
        return self.first + 2 * self.pairs

    def task(self, number: int) -> Task:
        """The episode with this number."""
        if number < self.first:
            return Task(-1, 0, number)
        pair, second = divmod(number - self.first, 2)
        return Task(pair, -1 if second else 1, int(self.turns[pair]))

    def episode_seed(self, task: Task) -> int:
        """Seed of the episode's random events, the same for both members of a pair."""
        entropy = [self.seed, self.generation, task.pair + 1, task.slot, 0]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])

    def returns(self, records: NDArray[np.void]) -> tuple[Floats, Floats]:
        """Returns the pairs' returns [pairs,2] (noise added, subtracted), and the current policy's
        [slots], or [0] if it does not play. records: of all episodes, in order."""
        whole = np.array_equal(records["task"], np.arange(len(self)))
        assert whole, "an episode is missing or duplicate"
        totals = records["total"]
        return totals[self.first :].reshape(self.pairs, 2), totals[: self.first]


def draw_levels(seed: int, generation: int, *, levels: int, count: int) -> tuple[int, ...]:
    """Draws the numbers of a generation's levels: `count` of them (0: all), in rising order."""
    if count == 0 or count >= levels:
        return tuple(range(levels))
    rng = np.random.default_rng([seed, generation, 1])
    return tuple(sorted(rng.choice(levels, count, replace=False).tolist()))
