"""What a generation is made of: noise that any process can draw, and what came of it.

Nothing is stored: noise is a function of (run seed, generation, pair), so that processes exchange
numbers of members and returns, and any of them can draw any member's noise again.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

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
    """The noise of a run on a flat vector of weights: for each layer a matrix [out,in], row by
    row, then its bias [out].

    seed: the run's. layers: (out, in) of each. rank: 0: every number is drawn by itself; r: a
    matrix is A Bᵀ / √r with A [out,r], B [in,r], so that r · (out + in) numbers are drawn for it.
    Either way each number has mean 0 and variance 1.
    """

    seed: int
    layers: tuple[tuple[int, int], ...]
    rank: int = 0

    @property
    def size(self) -> int:
        """Weights in all."""
        return sum(out * (inputs + 1) for out, inputs in self.layers)

    @property
    def blocks(self) -> int:
        """Blocks of a pair's noise; 1 for thin matrices."""
        return 1 if self.rank else -(-self.size // BLOCK)

    def block(self, generation: int, pair: int, number: int) -> Floats:
        """Block `number` of a pair's noise, where each number is drawn by itself."""
        count = min(BLOCK, self.size - number * BLOCK)
        rng = stream(self.seed, generation, pair, block=number)
        return rng.standard_normal(count, np.float32)

    def factors(self, generation: int, pair: int) -> list[tuple[Floats, Floats, Floats]]:
        """(A [out,r], B [in,r], noise of the bias [out]) of each layer, where there is a rank."""
        rng, rank = stream(self.seed, generation, pair), self.rank
        draw: Any = partial(rng.standard_normal, dtype=np.float32)
        return [(draw((out, rank)), draw((ins, rank)), draw(out)) for out, ins in self.layers]

    def whole(self, generation: int, pair: int) -> Floats:
        """All of a pair's noise, [size]."""
        if not self.rank:
            drawn = [self.block(generation, pair, number) for number in range(self.blocks)]
            return np.concatenate(drawn)
        scale = np.float32(1.0 / np.sqrt(self.rank))
        parts = []
        for a, b, bias in self.factors(generation, pair):
            parts += [(a @ b.T * scale).ravel(), bias]
        return np.concatenate(parts)


@dataclass(frozen=True)
class Task:
    """One episode of a generation. pair: −1 for the current policy. sign: 1 noise added, −1 taken
    off, 0 none. slot: which of the generation's levels. repeat: of an evaluation."""

    pair: int
    sign: int
    slot: int
    repeat: int = 0

    @property
    def member(self) -> int:
        """0: the current policy; 1, 2: the first pair with noise added and taken off; 3, 4, …"""
        return 0 if self.sign == 0 else 2 * self.pair + (1 if self.sign > 0 else 2)


@dataclass(frozen=True)
class Plan:
    """The episodes of a generation: first those of the current policy, then the pairs'.

    seed, generation: of the run. slots: numbers of the levels. evaluations: episodes of the current
    policy on each. steps: cap of an episode. levels_per_pair: on how many levels both members of a
    pair play, one pair going on where the last one ended; 0: on all.
    """

    seed: int
    generation: int
    pairs: int
    slots: tuple[int, ...]
    evaluations: int
    steps: int
    levels_per_pair: int = 0

    @property
    def played(self) -> int:
        """Episodes of each member."""
        count = len(self.slots)
        return min(self.levels_per_pair, count) if self.levels_per_pair else count

    @property
    def first(self) -> int:
        """The number of the first pair's first episode."""
        return self.evaluations * len(self.slots)

    def __len__(self) -> int:
        return self.first + 2 * self.pairs * self.played

    def task(self, number: int) -> Task:
        """The episode of that number."""
        if number < self.first:
            repeat, slot = divmod(number, len(self.slots))
            return Task(-1, 0, slot, repeat)
        member, turn = divmod(number - self.first, self.played)
        slot = int(self.turns(member // 2)[turn])
        return Task(member // 2, -1 if member % 2 else 1, slot)

    def turns(self, pair: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """The slots that a pair plays, [..., played]; generations go on where the last one ended,
        so that all levels have their turn."""
        before = self.generation * self.pairs + np.asarray(pair, np.int64)
        return (before[..., None] * self.played + np.arange(self.played)) % len(self.slots)

    def episode_seed(self, task: Task) -> int:
        """Of chance in the episode: the same for both members of a pair."""
        entropy = [self.seed, self.generation, task.pair + 1, task.slot, task.repeat]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])

    def table(self, records: NDArray[np.void]) -> tuple[Floats, Floats]:
        """Records of all episodes in any order -> returns of the pairs [pairs,2,slots] (noise
        added, taken off; nan where a pair did not play), and of the current policy
        [evaluations,slots]."""
        ordered = records[np.argsort(records["task"])]
        whole = np.array_equal(ordered["task"], np.arange(len(self)))
        assert whole, "an episode is missing, or there twice"
        totals, slots = ordered["total"], len(self.slots)
        current = totals[: self.first].reshape(self.evaluations, slots)
        returns = np.full((self.pairs, 2, slots), np.nan, np.float32)
        pairs = np.arange(self.pairs)
        played = totals[self.first :].reshape(self.pairs, 2, self.played)
        returns[pairs[:, None], :, self.turns(pairs)] = played.transpose(0, 2, 1)
        return returns, current


def draw_levels(seed: int, generation: int, *, levels: int, count: int) -> tuple[int, ...]:
    """Numbers of the levels that a generation plays: `count` of them (0: all), in rising order."""
    if count == 0 or count >= levels:
        return tuple(range(levels))
    rng = np.random.default_rng([seed, generation, 1])
    return tuple(sorted(rng.choice(levels, count, replace=False).tolist()))
