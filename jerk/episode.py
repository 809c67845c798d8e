"""One episode of the search: what it plans to play, and what it has played so far."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jerk.explorer import Actions, Rhythm
from jerk.learner import Bout
from jerk.memory import SequenceMemory, from_plain, to_plain
from jerk.recovery import JUMP_STEPS, OFF_RETURN, OFF_STEPS
from jerk.sequence import Place, StoredSequence
from retro_agents.contract.envs import ROUNDING

Kind = Literal["explore", "replay", "mutant"]


@dataclass
class Plan:
    """The actions that an episode plays first, those of a sequence or of a mutant of one, and how
    many of them it has played."""

    source: StoredSequence | None = None
    actions: Actions = field(default_factory=lambda: np.zeros(0, np.uint8))
    intact: int = 0
    """How many of the actions, from the first on, are the source's own."""
    pointer: int = 0
    """The next action."""
    steps: int = 0
    """Steps played by the plan so far."""
    departed: int | None = None
    """Steps played when the source's own actions ended; None while they last."""
    chosen: list[int] = field(default_factory=list)
    """The variant that is played in each of the source's slots."""
    expected: NDArray[np.float32] | None = None
    """The recorded return before each action up to where it is known; None without recovery."""
    off: int = 0
    """Consecutive steps at which the return differed from the expected one."""
    missed: int | None = None
    """The step of the source at which the episode first diverged from it."""

    @classmethod
    def of(cls, source: StoredSequence | None) -> "Plan":
        """A plan to play a sequence as it is; an empty plan for None."""
        if source is None:
            return cls()
        return cls(source, source.improved(), len(source.actions), expected=source.gained)

    def is_lost(self, gained: float) -> bool:
        """Whether the return has differed from the expected one for too many steps. To be called
        once before each action; gained: the return so far."""
        if self.expected is None or self.pointer >= min(len(self.actions), len(self.expected)):
            return False
        expected = float(self.expected[self.pointer])
        self.off = self.off + 1 if abs(expected - gained) > OFF_RETURN else 0
        if lost := self.off > OFF_STEPS:
            self.miss()
        return lost

    def miss(self) -> None:
        """Here the episode diverges from the source, unless it did so before."""
        if self.missed is None and self.departed is None:
            self.missed = self.pointer

    def follow(self, sequence: StoredSequence, step: int) -> None:
        """Continue with another sequence from that step on."""
        self.actions, self.expected, self.pointer = sequence.actions, sequence.gained, step
        self.intact = self.off = 0

    def give_up(self) -> None:
        """Drop the actions that are left."""
        self.actions = self.actions[: self.pointer]
        self.intact = min(self.intact, self.pointer)

    def next_action(self) -> int | None:
        """The next action; None if the plan is over, or dropped after too many setbacks."""
        if self.steps - self.pointer > len(self.actions):
            self.give_up()
        if self.departed is None and self.pointer >= self.intact:
            self.departed = self.steps
        if self.pointer >= len(self.actions):
            return None
        self.steps += 1
        self.pointer += 1
        return int(self.actions[self.pointer - 1])

    def reached(self) -> int:
        """The step of the source up to which an ended episode followed it (all: its length)."""
        assert self.source is not None, "a plan with a source"
        if self.missed is not None:
            return self.missed
        return self.pointer if self.departed is None else len(self.source.actions)


@dataclass
class SearchEpisode:
    """One episode. Rewards are raw; steps count from the episode's start."""

    level: str
    kind: Kind = "explore"
    plan: Plan = field(default_factory=Plan)
    bout: Bout = Bout()  # noqa: RUF009 - a tuple
    """The bout of exploration that is played after the plan."""
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    embeddings: list[NDArray[np.float16]] = field(default_factory=list)
    """Embeddings of the observations before each action, if a memory stores them."""
    frames: list[NDArray[np.uint8]] = field(default_factory=list)
    """The newest frames of these observations, if the best runs are written."""
    rhythm: Rhythm | None = None
    """The explorer, if it plays in a rhythm."""
    gained: float = 0.0
    """Return so far."""
    most: float = 0.0
    """Largest return so far."""
    idle: int = 0
    """Steps since it was reached."""
    holding: int = 0
    """Steps for which the policy's last action is still held."""

    def add(self, action: int, reward: float) -> None:
        """Add one step."""
        if len(self.actions) >= self.plan.steps:  # by exploration
            self.bout = self.bout._replace(reward=self.bout.reward + reward)
        self.actions.append(action)
        self.rewards.append(reward)
        self.gained += reward
        self.idle += 1
        if self.gained > self.most + ROUNDING:
            self.most, self.idle = self.gained, 0
        if self.rhythm is not None:
            self.rhythm.add(reward)

    def place(self, *, jump: int) -> Place:
        """The episode's current place. jump: the action that jumps to the right."""
        latest = self.actions[: -JUMP_STEPS - 1 : -1]
        since = latest.index(jump) if jump in latest else JUMP_STEPS
        return Place(self.gained, self.rewards[-1] if self.rewards else 0.0, since)

    def save(self) -> dict[str, Any]:
        """Its state for msgpack, without the frames, which are arrays of a checkpoint."""
        return to_plain(replace(self, frames=[]))

    @classmethod
    def restore(cls, saved: dict[str, Any], sequences: SequenceMemory) -> "SearchEpisode":
        """The episode that `save` was called on."""
        episode: SearchEpisode = from_plain(saved, cls)
        if (source := episode.plan.source) is not None:  # a full level may have forgotten it
            episode.plan.source = sequences.numbered(episode.level, source.number) or source
        return episode
