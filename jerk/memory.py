"""JERK's memory per level: sequences of actions with the returns of all their replays, and the
best runs with their frames."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from jerk.explorer import Actions, Rng
from jerk.recovery import SequencePool
from jerk.sequence import Place, StoredSequence
from retro_agents.contract.envs import EnvSpec
from retro_agents.experience.episodes import Episode

MEAN = attrgetter("mean")


def to_plain(value: Any) -> Any:
    """Converts nested dataclasses and arrays to values that msgpack can hold."""

    def plain(array: NDArray) -> dict[str, Any]:
        return {"dtype": array.dtype.str, "shape": list(array.shape), "data": array.tobytes()}

    return msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=plain)


def from_plain(value: Any, kind: Any) -> Any:
    """Converts the result of `to_plain` back to a `kind`."""

    def array(_: type, plain: dict[str, Any]) -> NDArray:
        return np.frombuffer(plain["data"], plain["dtype"]).reshape(plain["shape"]).copy()

    return msgspec.convert(value, kind, dec_hook=array)


class SequenceMemory:
    """Up to `capacity` sequences per level; the one with the lowest mean makes room for another."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.levels: dict[str, list[StoredSequence]] = {}
        self.starts: dict[str, NDArray[np.uint8]] = {}
        """Each level's first observation, which identifies it."""
        self.next_number = 0
        self.pools: dict[str, SequencePool] = {}
        """A pool per level, made of its sequences at the last search."""

    def __len__(self) -> int:
        return sum(len(sequences) for sequences in self.levels.values())

    def nearest(self, level: str, place: Place, *, jump: int) -> tuple[StoredSequence, int] | None:
        """Returns the level's sequence and step whose place is most similar to this one, or None
        if there is none."""
        sequences = self.levels.get(level, [])
        if level not in self.pools or not self.pools[level].is_of(sequences):
            self.pools[level] = SequencePool(sequences, jump=jump)
        best = self.best(level)
        return None if best is None else self.pools[level].nearest(place, best=best.mean)

    def best(self, level: str) -> StoredSequence | None:
        """A level's best sequence, the oldest of equals."""
        return max(self.levels.get(level, ()), key=MEAN, default=None)

    def add(
        self,
        level: str,
        actions: Actions,
        value: float,
        *,
        rewards: NDArray[np.float32] | None = None,
        latest: int = 0,
    ) -> StoredSequence | None:
        """Store a run. Returns its sequence, or None if it is worse than all of a full level's.

        If the same sequence is stored already, it gets the return as one more replay; latest: see
        `StoredSequence.add_return`.
        """
        sequences = self.levels.setdefault(level, [])
        for sequence in sequences:
            if np.array_equal(sequence.actions, actions):
                sequence.add_return(value, latest=latest)
                return sequence
        new = StoredSequence(
            self.next_number, np.array(actions, np.uint8), [value], rewards=rewards
        )
        self.next_number += 1
        sequences.append(new)
        self.make_room(sequences)
        return new if new in sequences else None  # by identity

    def make_room(self, sequences: list[StoredSequence]) -> None:
        """Forget a level's worst sequences beyond the capacity, the newest of equals first."""
        while len(sequences) > self.capacity:
            sequences.remove(min(reversed(sequences), key=MEAN))

    def recordings(self) -> set[str]:
        """The names of all recorded files."""
        return {s.recording for sequences in self.levels.values() for s in sequences if s.recording}

    def forget_recordings(self) -> None:
        """Drop the names of recordings, which lie in another run's folder."""
        for sequences in self.levels.values():
            for sequence in sequences:
                sequence.recording = ""

    def rename(self, level: str, name: str) -> None:
        """Know a level by another name from now on, unless that one is known."""
        if level in self.starts and name not in self.starts:
            self.starts[name] = self.starts.pop(level)
            self.levels[name] = self.levels.pop(level, [])

    def numbered(self, level: str, number: int) -> StoredSequence | None:
        """The sequence with this number, or None if it was forgotten."""
        return next((s for s in self.levels.get(level, ()) if s.number == number), None)

    def save(self) -> dict[str, Any]:
        """The memory as values that msgpack can hold; `restore` reads it back."""
        state = {"levels": self.levels, "starts": self.starts, "next_number": self.next_number}
        return {name: to_plain(value) for name, value in state.items()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` returned."""
        self.levels = from_plain(saved["levels"], dict[str, list[StoredSequence]])
        for sequences in self.levels.values():  # the saved memory may have been larger
            self.make_room(sequences)
        self.starts = from_plain(saved["starts"], dict[str, NDArray[np.uint8]])
        self.next_number = saved["next_number"]

    def as_json(self, *, most: int = 10) -> dict[str, list[dict[str, Any]]]:
        """The best sequences of each level, for people and other programs."""
        return {
            level: [
                {
                    "mean_return": round(sequence.mean, 1),
                    "returns": [round(value, 1) for value in sequence.returns],
                    "recording": sequence.recording,
                    "actions": sequence.actions.tolist(),
                }
                for sequence in sorted(sequences, key=MEAN, reverse=True)[:most]
            ]
            for level, sequences in self.levels.items()
        }


def sample(
    runs: Sequence[Episode], count: int, rng: Rng, *, spec: EnvSpec
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float32]]:
    """Draws `count` steps of runs with frames, all steps alike -> observations [B,C,H,W], actions
    [B], and weights [B]: each run's return as a fraction of its level's best, at least 0."""
    best: dict[str, float] = {}
    for run in runs:
        best[run.level] = max(best.get(run.level, 0.0), run.total_reward)
    ends = np.cumsum([len(run.actions) for run in runs])
    drawn = rng.integers(0, ends[-1], count)
    which = np.searchsorted(ends, drawn, side="right")
    steps = drawn - np.concatenate([[0], ends])[which]
    back = np.array(spec.steps_back)
    obs, actions, weights = [], [], []
    for run, step in zip([runs[index] for index in which], steps.tolist(), strict=True):
        assert run.frames is not None, "runs with frames"
        obs.append(np.concatenate(run.frames[np.maximum(step - back, 0)]))  # as `FrameHistory` does
        actions.append(int(run.actions[step]))
        weights.append(max(0.0, run.total_reward) / (best[run.level] or 1.0))
    return np.stack(obs), np.array(actions, np.int64), np.array(weights, np.float32)


class BestRuns:
    """The `most` best runs of each level, best first: episodes with their frames, up to their
    furthest points."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.levels: dict[str, list[Episode]] = {}

    def __len__(self) -> int:
        return sum(len(runs) for runs in self.levels.values())

    def all(self) -> list[Episode]:
        """All episodes, level by level."""
        return [run for runs in self.levels.values() for run in runs]

    def wants(self, level: str, value: float) -> bool:
        """Whether a run with this return would be among the best."""
        runs = self.levels.get(level, [])
        return len(runs) < self.most or value > runs[-1].total_reward

    def add(self, run: Episode) -> None:
        """Keep a run if it is one of the best; of equals the earlier one stays."""
        runs = self.levels.setdefault(run.level, [])
        runs.append(run)
        runs.sort(key=lambda one: one.total_reward, reverse=True)
        del runs[self.most :]
