"""What JERK remembers: sequences of actions, per level, with the returns of all their replays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Actions = NDArray[np.uint8]


@dataclass(eq=False)
class Sequence:
    """The actions [L] of an episode up to its furthest point."""

    number: int
    """In the order of discovery."""
    actions: Actions
    returns: list[float]
    """Of the run that found it, then of each replay."""
    pause: int
    """The longest time without progress in the run that found it, in steps."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return sum(self.returns) / len(self.returns)

    @property
    def changes(self) -> int:
        """How often the action changes: each change may come a frame late."""
        return int(np.count_nonzero(np.diff(self.actions)))


Score = Callable[[Sequence], float]


def mean_score(sequence: Sequence) -> float:
    """The published choice: the highest mean return."""
    return sequence.mean


class Sequences:
    """Up to `capacity` sequences per level; the worst by `score` makes room for a new one."""

    def __init__(self, capacity: int, *, score: Score = mean_score) -> None:
        self.capacity, self.score = capacity, score
        self.levels: dict[str, list[Sequence]] = {}
        self.starts: dict[str, NDArray[np.uint8]] = {}
        """Each level's first observation, by which it is recognised."""
        self.next_number = 0

    def __len__(self) -> int:
        return sum(len(found) for found in self.levels.values())

    def best(self, level: str) -> Sequence | None:
        """The best of a level; the older one of equals."""
        return max(self.levels.get(level, ()), key=self.score, default=None)

    def add(self, level: str, actions: Actions, value: float, *, pause: int) -> Sequence | None:
        """Remember a run -> its sequence, or None where it was worse than a full level's worst.

        A sequence that is there already gets the return as one more of its own.
        """
        assert len(actions) > 0, "a sequence has an action or more"
        found = self.levels.setdefault(level, [])
        for sequence in found:
            if np.array_equal(sequence.actions, actions):
                sequence.returns.append(value)
                return sequence
        new = Sequence(self.next_number, np.array(actions, np.uint8), [value], pause)
        self.next_number += 1
        found.append(new)
        if len(found) > self.capacity:
            worst = min(reversed(found), key=self.score)
            found.remove(worst)
            return None if worst is new else new
        return new

    def numbered(self, level: str, number: int) -> Sequence | None:
        """The sequence of that number, if it is still there."""
        return next((s for s in self.levels.get(level, ()) if s.number == number), None)

    def save(self) -> dict[str, Any]:
        """All of it as msgpack can hold it; `restore` reads it back."""
        levels = {
            level: [
                {
                    "number": sequence.number,
                    "actions": sequence.actions.tobytes(),
                    "returns": list(sequence.returns),
                    "pause": sequence.pause,
                }
                for sequence in found
            ]
            for level, found in self.levels.items()
        }
        starts = {level: [obs.tobytes(), list(obs.shape)] for level, obs in self.starts.items()}
        return {"levels": levels, "starts": starts, "next_number": self.next_number}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what was saved."""
        self.levels = {
            level: [
                Sequence(
                    number=one["number"],
                    actions=np.frombuffer(one["actions"], np.uint8).copy(),
                    returns=list(one["returns"]),
                    pause=one["pause"],
                )
                for one in found
            ]
            for level, found in saved["levels"].items()
        }
        self.starts = {
            level: np.frombuffer(data, np.uint8).reshape(shape).copy()
            for level, (data, shape) in saved["starts"].items()
        }
        self.next_number = saved["next_number"]

    def as_json(self, *, most: int = 10) -> dict[str, list[dict[str, Any]]]:
        """The best few of each level, for people and other programs."""
        return {
            level: [
                {
                    "score": round(self.score(sequence), 1),
                    "mean_return": round(sequence.mean, 1),
                    "returns": [round(value, 1) for value in sequence.returns],
                    "changes": sequence.changes,
                    "actions": sequence.actions.tolist(),
                }
                for sequence in sorted(found, key=self.score, reverse=True)[:most]
            ]
            for level, found in self.levels.items()
        }
