"""What one emulator is in the middle of: an episode that replays, mutates or explores."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from jerk.config import JerkConfig
from jerk.learner import (
    Actions,
    Bout,
    Moves,
    Rng,
    exploit_probability,
    explore,
    furthest_point,
    is_kept,
    mutate,
)
from jerk.memory import Sequence, Sequences

Kind = Literal["explore", "replay", "mutant"]


@dataclass
class Play:
    """One episode. Rewards are raw; steps count from the episode's start."""

    level: str
    kind: Kind = "explore"
    source: Sequence | None = None
    """The sequence that is replayed or was mutated."""
    plan: Actions = field(default_factory=lambda: np.zeros(0, np.uint8))
    """What is to be played first."""
    pointer: int = 0
    """The next action of the plan."""
    value: float | None = None
    """Of a replay whose plan has ended: the return by then."""
    bout: Bout = Bout()  # noqa: RUF009 - a tuple
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    total: float = 0.0
    furthest: float = 0.0
    idle: int = 0
    """Steps since the furthest point was last passed."""
    exploring: bool = False
    """Whether the last action was exploration's."""

    def next_action(self, rng: Rng, *, moves: Moves, config: JerkConfig) -> int:
        """Of the plan as long as there is one, then of exploration (or waiting)."""
        if self.pointer < len(self.plan) and self.gives_up(config):
            self.plan = self.plan[: self.pointer]
        self.exploring = self.pointer == len(self.plan)
        if not self.exploring:
            action = int(self.plan[self.pointer])
            self.pointer += 1
            return action
        if self.source is not None and self.value is None:
            self.value = self.furthest
        if self.source is not None and not config.go_on:
            return moves.wait
        action, self.bout = explore(self.bout, rng, moves=moves, config=config)
        return action

    def gives_up(self, config: JerkConfig) -> bool:
        """Whether the plan has brought nothing for too long."""
        assert self.source is not None
        return 0 < config.patience <= self.idle - self.source.pause

    def add(self, action: int, reward: float) -> None:
        """What was played, and what it brought."""
        self.actions.append(action)
        self.rewards.append(reward)
        self.total += reward
        self.idle += 1
        if self.total > self.furthest:
            self.furthest, self.idle = self.total, 0
        if self.exploring:
            self.bout = self.bout._replace(reward=self.bout.reward + reward)

    def save(self) -> dict[str, Any]:
        """For msgpack."""
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "source": None if self.source is None else self.source.number,
            "plan": self.plan.tobytes(),
            "bout": list(self.bout),
            "actions": bytes(self.actions),
        }

    @classmethod
    def restore(cls, saved: dict[str, Any], sequences: Sequences) -> "Play":
        """What `save` was called on."""
        play = cls(**{name: saved[name] for name in PLAIN})
        if saved["source"] is not None:
            play.source = sequences.numbered(saved["level"], saved["source"])
        play.plan = np.frombuffer(saved["plan"], np.uint8).copy()
        play.bout = Bout(*saved["bout"])
        play.actions = list(saved["actions"])
        return play


PLAIN = ("level", "kind", "pointer", "value", "rewards", "total", "furthest", "idle", "exploring")


def begin(
    level: str, sequences: Sequences, rng: Rng, *, config: JerkConfig, env_steps: int
) -> Play:
    """Decide what an episode on that level is for."""
    best = sequences.best(level)
    if best is None:
        return Play(level)
    if rng.random() < exploit_probability(config, env_steps, best=best.mean):
        return Play(level, "replay", best, best.actions)
    if not config.mutate:
        return Play(level)
    mutant = mutate(best.actions, rng, best=best.mean, config=config)
    return Play(level, "mutant", best, mutant.actions)


@dataclass(frozen=True)
class Outcome:
    """What an ended episode did to the sequences."""

    kept: bool
    improved: bool


def finish(play: Play, sequences: Sequences, *, config: JerkConfig, cut: bool) -> Outcome:
    """Learn from an ended episode. cut: it ended for a change of level, not by what was played.

    A replay adds to the returns of its sequence: its own return where it waits for the end (as
    published), else what its plan had brought. Whatever else was played may be a new sequence.
    """
    before = sequences.best(play.level)
    if play.kind == "replay" and play.source is not None and not cut:
        if config.go_on:
            play.source.returns.append(play.furthest if play.value is None else play.value)
        else:
            play.source.returns.append(play.total)
    if play.kind == "replay" and not config.go_on:
        return Outcome(kept=False, improved=False)
    length, value, pause = furthest_point(play.rewards)
    actions = np.array(play.actions[:length], np.uint8)
    if play.source is not None and np.array_equal(actions, play.source.actions):
        return Outcome(kept=False, improved=False)  # counted above
    best = before.mean if before is not None else 0.0
    if not is_kept(value, best, ratio=config.keep_ratio):
        return Outcome(kept=False, improved=False)
    kept = sequences.add(play.level, actions, value, pause=pause)
    improved = before is not None and kept is not None and sequences.best(play.level) is kept
    return Outcome(kept=kept is not None, improved=improved and kept is not before)
