"""What JERK remembers, per level: sequences of actions with the returns of all their replays, and
the best runs with their frames."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from jerk.explorer import Actions
from jerk.recovery import SequencePool
from jerk.sequence import Place, StoredSequence
from retro_agents.experience.episodes import Episode

MEAN = attrgetter("mean")


def to_plain(value: Any) -> Any:
    """Dataclasses and arrays in any nesting, as msgpack can hold them."""

    def plain(array: NDArray) -> dict[str, Any]:
        return {"dtype": array.dtype.str, "shape": list(array.shape), "data": array.tobytes()}

    return msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=plain)


def from_plain(value: Any, kind: Any) -> Any:
    """What `to_plain` was given, which is a `kind`."""

    def array(_: type, plain: dict[str, Any]) -> NDArray:
        return np.frombuffer(plain["data"], plain["dtype"]).reshape(plain["shape"]).copy()

    return msgspec.convert(value, kind, dec_hook=array)


class SequenceMemory:
    """Up to `capacity` sequences per level; that of the lowest mean makes room for a new one."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.levels: dict[str, list[StoredSequence]] = {}
        self.starts: dict[str, NDArray[np.uint8]] = {}
        """Each level's first observation, by which it is recognised."""
        self.next_number = 0
        self.pools: dict[str, SequencePool] = {}
        """Of the levels' sequences as they were when one was last looked for."""

    def __len__(self) -> int:
        return sum(len(found) for found in self.levels.values())

    def nearest(self, level: str, place: Place, *, jump: int) -> tuple[StoredSequence, int] | None:
        """The level's sequence, and its step, that was in a place most like that one; None where
        none was."""
        found = self.levels.get(level, [])
        if level not in self.pools or not self.pools[level].is_of(found):
            self.pools[level] = SequencePool(found, jump=jump)
        best = self.best(level)
        return None if best is None else self.pools[level].nearest(place, best=best.mean)

    def best(self, level: str) -> StoredSequence | None:
        """The best of a level; the older one of equals."""
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
        """Remember a run -> its sequence, or None where it was worse than a full level's worst.

        A sequence that is there already gets the return as one more of its own; latest: as of
        `StoredSequence.add_return`.
        """
        assert len(actions) > 0, "a sequence has an action or more"
        found = self.levels.setdefault(level, [])
        for sequence in found:
            if np.array_equal(sequence.actions, actions):
                sequence.add_return(value, latest=latest)
                return sequence
        new = StoredSequence(
            self.next_number, np.array(actions, np.uint8), [value], rewards=rewards
        )
        self.next_number += 1
        found.append(new)
        self.make_room(found)
        return new if new in found else None  # by identity

    def make_room(self, found: list[StoredSequence]) -> None:
        """Forget a level's worst sequences, the later of equals, beyond the capacity."""
        while len(found) > self.capacity:
            found.remove(min(reversed(found), key=MEAN))

    def recordings(self) -> set[str]:
        """The names of all files."""
        return {s.recording for found in self.levels.values() for s in found if s.recording}

    def forget_recordings(self) -> None:
        """They lie in another run's folder."""
        for found in self.levels.values():
            for sequence in found:
                sequence.recording = ""

    def numbered(self, level: str, number: int) -> StoredSequence | None:
        """The sequence of that number, if it is still there."""
        return next((s for s in self.levels.get(level, ()) if s.number == number), None)

    def save(self) -> dict[str, Any]:
        """All of it as msgpack can hold it; `restore` reads it back."""
        kept = {"levels": self.levels, "starts": self.starts, "next_number": self.next_number}
        return {name: to_plain(value) for name, value in kept.items()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what was saved."""
        self.levels = from_plain(saved["levels"], dict[str, list[StoredSequence]])
        for found in self.levels.values():  # of a larger memory
            self.make_room(found)
        self.starts = from_plain(saved["starts"], dict[str, NDArray[np.uint8]])
        self.next_number = saved["next_number"]

    def as_json(self, *, most: int = 10) -> dict[str, list[dict[str, Any]]]:
        """The best few of each level, for people and other programs."""
        return {
            level: [
                {
                    "mean_return": round(sequence.mean, 1),
                    "returns": [round(value, 1) for value in sequence.returns],
                    "recording": sequence.recording,
                    "actions": sequence.actions.tolist(),
                }
                for sequence in sorted(found, key=MEAN, reverse=True)[:most]
            ]
            for level, found in self.levels.items()
        }


class BestRuns:
    """The `most` best runs of each level, best first: episodes with their frames, up to their
    furthest points."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.levels: dict[str, list[Episode]] = {}

    def __len__(self) -> int:
        return sum(len(found) for found in self.levels.values())

    def all(self) -> list[Episode]:
        """Level by level."""
        return [run for found in self.levels.values() for run in found]

    def wants(self, level: str, value: float) -> bool:
        """Whether a run of that return would be among the best."""
        found = self.levels.get(level, [])
        return len(found) < self.most or value > found[-1].total_reward

    def add(self, run: Episode) -> None:
        """Keep a run if it is one of the best, the earlier of equals."""
        found = self.levels.setdefault(run.level, [])
        found.append(run)
        found.sort(key=lambda one: one.total_reward, reverse=True)
        del found[self.most :]
