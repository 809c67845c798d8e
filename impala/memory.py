"""IMPALA's memory: sequences until they make a batch, and batches to replay."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retro_agents.experience.rollouts import Rollout
from retro_agents.ground.arrays import Rows, whole
from retro_agents.run.run import EndedEpisode

PREFIX = "memory-"
"""Prefix of the memory's arrays in a checkpoint."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """T consecutive steps of N environments, and the observations that they led to."""

    obs: NDArray[np.uint8]
    """[T+1,N,H,W,C]; the last one has no action yet."""
    starts: NDArray[np.bool_]
    """[T+1,N]: whether an observation begins an episode."""
    states: NDArray[np.float32]
    """[N,S]: the net's recurrent states before the first step."""
    actions: NDArray[np.int64]
    """[T,N], as are the following arrays."""
    logp: NDArray[np.float32]
    """Log-probabilities of the actions under the policy that acted."""
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    """Terminated or truncated."""
    cut_at: NDArray[np.int64]
    """[F,2]: step and environment of each truncation."""
    cut_obs: NDArray[np.uint8]
    """[F,H,W,C]: the last observation of each truncated episode."""
    versions: NDArray[np.int64]
    """[N]: version of the weights that acted, in updates."""

    @property
    def count(self) -> int:
        """N."""
        return len(self.versions)

    def columns(self, part: slice) -> "Sequences":
        """Copies the sequences of some environments; a view would keep all of them in memory."""
        begin, end, _ = part.indices(self.count)
        inside = (self.cut_at[:, 1] >= begin) & (self.cut_at[:, 1] < end)
        own = {name: getattr(self, name)[:, begin:end].copy() for name in OF_STEPS}
        return Sequences(
            **own,
            states=self.states[begin:end].copy(),
            versions=self.versions[begin:end].copy(),
            cut_at=self.cut_at[inside] - np.array([0, begin]),
            cut_obs=self.cut_obs[inside],
        )


OF_STEPS = ("obs", "starts", "actions", "logp", "rewards", "terminated", "ended")
"""Arrays whose second axis is the environments."""


def numbered(parts: Sequence[Sequences]) -> list[Sequences]:
    """The parts, in which the environments of truncations are counted over all parts."""
    before = np.cumsum([0, *(part.count for part in parts)])
    return [
        replace(part, cut_at=part.cut_at + np.array([0, first]))
        for part, first in zip(parts, before[:-1], strict=True)
    ]


def joined(parts: Sequence[Sequences]) -> Sequences:
    """Joins parts of equally many steps along the environments."""
    parts = numbered(parts)
    return Sequences(
        **{
            field.name: np.concatenate(
                [getattr(part, field.name) for part in parts], axis=int(field.name in OF_STEPS)
            )
            for field in fields(Sequences)
        }
    )


def sequences_of(
    rollout: Rollout, obs: NDArray[np.uint8], *, starts: NDArray[np.bool_], version: int
) -> Sequences:
    """Copies a full rollout. obs [N,C,H,W] and starts [N] follow its last step."""
    cut_at = np.array([*rollout.finals], np.int64).reshape(-1, 2)
    last = obs.transpose(0, 2, 3, 1)
    cut_obs = [image.transpose(1, 2, 0) for image in rollout.finals.values()]
    return Sequences(
        obs=np.concatenate([rollout.obs.cpu().numpy(), last[None]]),
        starts=np.concatenate([rollout.starts, starts[None]]),
        states=rollout.states[0].cpu().numpy().copy(),
        actions=rollout.actions.cpu().numpy().copy(),
        logp=rollout.logp.cpu().numpy().copy(),
        rewards=rollout.rewards.copy(),
        terminated=rollout.terminated.copy(),
        ended=rollout.ended.copy(),
        cut_at=cut_at,
        cut_obs=np.stack(cut_obs) if cut_obs else np.empty((0, *last.shape[1:]), np.uint8),
        versions=np.full(len(starts), version),
    )


class Block(NamedTuple):
    """What an actor sends to the learner."""

    sequences: Sequences | None
    """None if the run ended before the rollout was full: the actor then keeps the rollout."""
    env_steps: int
    episodes: list[EndedEpisode]
    """The episodes that ended in the block, with steps counted from its start."""


class Memory:
    """Forms batches from blocks of any size, and replays earlier batches among them."""

    def __init__(
        self, *, sequences: int, remembered: int, proportion: float, rng: np.random.Generator
    ) -> None:
        """sequences: per batch. remembered: capacity in batches. proportion: replayed batches per
        new one. rng: draws the replayed batches."""
        self.sequences, self.rng = sequences, rng
        self.proportion = proportion if remembered else 0.0
        self.waiting: list[Sequences] = []
        self.remembered: deque[Sequences] = deque(maxlen=remembered)
        self.owed = 0.0
        """Replayed batches that are due, as a fraction."""

    def batches(self, block: Sequences) -> Iterator[tuple[Sequences, bool]]:
        """Adds a block. Yields the batches to learn from now, and whether each is new."""
        self.waiting.append(block)
        while sum(part.count for part in self.waiting) >= self.sequences:
            together = joined(self.waiting)
            batch = together.columns(slice(0, self.sequences))
            rest = together.columns(slice(self.sequences, None))
            self.waiting = [rest] if rest.count else []
            yield batch, True
            self.owed += self.proportion
            while self.owed >= 1.0 and self.remembered:
                self.owed -= 1.0
                yield self.remembered[self.rng.integers(len(self.remembered))], False
            self.remembered.append(batch)

    def arrays(self) -> dict[str, Rows]:
        """The whole memory for a checkpoint: views, part by part, environments first; `restore`
        reads it back."""
        found: dict[str, Rows] = {}
        if parts := numbered([*self.remembered, *self.waiting]):
            for field in fields(Sequences):
                rows = [getattr(part, field.name) for part in parts]
                if field.name in OF_STEPS:
                    rows = [array.swapaxes(0, 1) for array in rows]
                found[PREFIX + field.name.replace("_", "-")] = rows
        return found

    def restore(self, saved: Mapping[str, Any], *, remembered: int, owed: float) -> None:
        """Restore the memory from `arrays`. remembered: number of batches, which come first."""
        self.owed, self.waiting = owed, []  # drops what a damaged checkpoint left
        self.remembered.clear()
        if PREFIX + "obs" not in saved:
            return
        arrays = {
            field.name: whole(saved, PREFIX + field.name.replace("_", "-"))
            for field in fields(Sequences)
        }
        swapped = {name: arrays[name].swapaxes(0, 1) for name in OF_STEPS}
        together = Sequences(**{**arrays, **swapped})
        ends = self.sequences * np.arange(remembered + 1)
        for begin in ends[:-1].tolist():
            self.remembered.append(together.columns(slice(begin, begin + self.sequences)))
        rest = together.columns(slice(int(ends[-1]), None))
        self.waiting = [rest] if rest.count else []
