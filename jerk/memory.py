"""What JERK remembers, per level: sequences of actions with the returns of all their replays, and
the best runs with their frames."""

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
    embeddings: NDArray[np.float16] | None = None
    """Of the observations before each action in that run, [L,D], where replays need them."""
    recording: str = ""
    """The file (.bk2, in recordings/) of the episode that it began, if that was recorded."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return sum(self.returns) / len(self.returns)

    @property
    def changes(self) -> int:
        """How often the action changes: each change may come a frame late."""
        return int(np.count_nonzero(np.diff(self.actions)))

    def save(self) -> dict[str, Any]:
        """For msgpack."""
        embeddings = self.embeddings
        return {
            "number": self.number,
            "actions": self.actions.tobytes(),
            "returns": list(self.returns),
            "embeddings": None if embeddings is None else embeddings.tobytes(),
            "recording": self.recording,
        }

    @classmethod
    def restore(cls, saved: Mapping[str, Any]) -> "Sequence":
        """What `save` was called on."""
        sequence = cls(
            number=saved["number"],
            actions=np.frombuffer(saved["actions"], np.uint8).copy(),
            returns=list(saved["returns"]),
            recording=saved.get("recording", ""),  # an earlier version had none
        )
        if saved["embeddings"] is not None:
            rows = np.frombuffer(saved["embeddings"], np.float16).copy()
            sequence.embeddings = rows.reshape(len(sequence.actions), -1)
        return sequence


Score = Callable[[Sequence], float]
EMBEDDED = 8
"""Sequences of a level whose embeddings are kept."""


def mean_score(sequence: Sequence) -> float:
    """The published choice: the highest mean return."""
    return sequence.mean


class Sequences:
    """Up to `capacity` sequences per level; the worst by `score` makes room for a new one.

    promise: the score by which a sequence deserves a trial.
    """

    def __init__(
        self, capacity: int, *, score: Score = mean_score, promise: Score = mean_score
    ) -> None:
        self.capacity, self.score, self.promise = capacity, score, promise
        self.levels: dict[str, list[Sequence]] = {}
        self.starts: dict[str, NDArray[np.uint8]] = {}
        """Each level's first observation, by which it is recognised."""
        self.next_number = 0

    def __len__(self) -> int:
        return sum(len(found) for found in self.levels.values())

    def best(self, level: str) -> Sequence | None:
        """The best of a level; the older one of equals."""
        return max(self.levels.get(level, ()), key=self.score, default=None)

    def promising(self, level: str) -> Sequence:
        """The most promising of a level that has one or more."""
        return max(self.levels[level], key=self.promise)

    def add(
        self,
        level: str,
        actions: Actions,
        value: float,
        *,
        embeddings: NDArray[np.float16] | None = None,
    ) -> Sequence | None:
        """Remember a run -> its sequence, or None where it was worse than a full level's worst.

        A sequence that is there already gets the return as one more of its own.
        """
        assert len(actions) > 0, "a sequence has an action or more"
        found = self.levels.setdefault(level, [])
        for sequence in found:
            if np.array_equal(sequence.actions, actions):
                sequence.returns.append(value)
                return sequence
        copied = np.array(actions, np.uint8)
        new = Sequence(self.next_number, copied, [value], embeddings)
        self.next_number += 1
        found.append(new)
        if embeddings is not None:
            self.drop_embeddings(found)
        self.make_room(found)
        return new if any(one is new for one in found) else None

    def make_room(self, found: list[Sequence]) -> None:
        """Forget a level's worst sequences, the later of equals, beyond the capacity."""
        while len(found) > self.capacity:
            found.remove(min(reversed(found), key=self.score))

    def drop_embeddings(self, found: list[Sequence]) -> None:
        """Of a level's sequences but for the few best: they are most of what a sequence takes."""
        seen = [sequence for sequence in found if sequence.embeddings is not None]
        for sequence in sorted(seen, key=self.score, reverse=True)[EMBEDDED:]:
            sequence.embeddings = None

    def recordings(self) -> set[str]:
        """The names of all files."""
        return {s.recording for found in self.levels.values() for s in found if s.recording}

    def forget_recordings(self) -> None:
        """They lie in another run's folder."""
        for found in self.levels.values():
            for sequence in found:
                sequence.recording = ""

    def numbered(self, level: str, number: int) -> Sequence | None:
        """The sequence of that number, if it is still there."""
        return next((s for s in self.levels.get(level, ()) if s.number == number), None)

    def save(self) -> dict[str, Any]:
        """All of it as msgpack can hold it; `restore` reads it back."""
        levels = {
            level: [sequence.save() for sequence in found] for level, found in self.levels.items()
        }
        starts = {level: [obs.tobytes(), list(obs.shape)] for level, obs in self.starts.items()}
        return {"levels": levels, "starts": starts, "next_number": self.next_number}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what was saved."""
        self.levels = {
            level: [Sequence.restore(one) for one in found]
            for level, found in saved["levels"].items()
        }
        for found in self.levels.values():
            self.make_room(found)
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
                    "recording": sequence.recording,
                    "actions": sequence.actions.tolist(),
                }
                for sequence in sorted(found, key=self.score, reverse=True)[:most]
            ]
            for level, found in self.levels.items()
        }


@dataclass(eq=False)
class Run:
    """An episode up to its furthest point, with what was seen.

    frames uint8 [L+1,c,H,W]: the newest frame of the observation before each action, and of the one
    after the last; actions uint8 [L]; rewards float64 [L], raw.
    """

    frames: NDArray[np.uint8]
    actions: Actions
    rewards: NDArray[np.float64]
    terminated: bool
    """Whether the game ended with the last action."""

    @property
    def value(self) -> float:
        """Its return."""
        return float(self.rewards.sum())


class Runs:
    """The `most` best runs of each level."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.levels: dict[str, list[Run]] = {}

    def __len__(self) -> int:
        return sum(len(found) for found in self.levels.values())

    def wants(self, level: str, value: float) -> bool:
        """Whether a run of that return would be among the best."""
        found = self.levels.get(level, [])
        return len(found) < self.most or value > found[-1].value

    def add(self, level: str, run: Run) -> None:
        """Keep a run if it is one of the best, the earlier of equals."""
        found = self.levels.setdefault(level, [])
        found.append(run)
        found.sort(key=lambda one: one.value, reverse=True)
        del found[self.most :]

    def better(self, than: Mapping[str, float]) -> list[tuple[Run, float]]:
        """The runs that returned more than that on their level, each with the level's best."""
        return [
            (run, found[0].value)
            for level, found in self.levels.items()
            for run in found
            if run.value > than.get(level, -np.inf)
        ]

    @staticmethod
    def sample(
        runs: list[tuple[Run, float]],
        batch_size: int,
        rng: np.random.Generator,
        *,
        frame_stack: int,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float32]]:
        """Steps of what `better` gave, all alike -> observations [B,C,H,W], actions [B], weights
        [B]: each run's return over the level's best."""
        ends = np.cumsum([len(run.actions) for run, _ in runs])
        drawn = rng.integers(0, ends[-1], batch_size)
        which = np.searchsorted(ends, drawn, side="right")
        steps = drawn - np.concatenate([[0], ends])[which]
        obs, actions, weights = [], [], []
        for index, step in zip(which.tolist(), steps.tolist(), strict=True):
            run, best = runs[index]
            # Before an episode's first frame stands that frame itself, as the environment has it.
            stack = np.maximum(step - np.arange(frame_stack)[::-1], 0)
            obs.append(np.concatenate(run.frames[stack]))
            actions.append(int(run.actions[step]))
            weights.append(max(0.0, run.value / best) if best > 0.0 else 1.0)
        return np.stack(obs), np.array(actions, np.int64), np.array(weights, np.float32)

    def arrays(self) -> dict[str, NDArray]:
        """All of it for a checkpoint; `restore` reads it back, given the levels' names."""
        runs = [run for found in self.levels.values() for run in found]
        if not runs:
            return {}
        return {
            "run-frames": np.concatenate([run.frames for run in runs]),
            "run-actions": np.concatenate([run.actions for run in runs]),
            "run-rewards": np.concatenate([run.rewards for run in runs]),
            "run-lengths": np.array([len(run.actions) for run in runs]),
            "run-terminated": np.array([run.terminated for run in runs]),
        }

    def restore(self, saved: Mapping[str, NDArray], levels: Mapping[str, int]) -> None:
        """Become what `arrays` was taken from. levels: runs of each level, in order."""
        if "run-lengths" not in saved:
            return
        lengths = saved["run-lengths"]
        cuts = np.cumsum(lengths)[:-1]
        parts = zip(
            np.split(saved["run-frames"], np.cumsum(lengths + 1)[:-1]),
            np.split(saved["run-actions"], cuts),
            np.split(saved["run-rewards"], cuts),
            saved["run-terminated"].tolist(),
            strict=True,
        )
        self.levels = {
            level: [Run(*next(parts)) for _ in range(count)] for level, count in levels.items()
        }
