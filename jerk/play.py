"""What one emulator is in the middle of: an episode that replays, mutates or explores."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jerk.config import JerkConfig
from jerk.learner import (
    MEMORY,
    POLICY,
    Actions,
    Bout,
    Moves,
    Rng,
    Shares,
    exploit_probability,
    explore,
    furthest_point,
    is_kept,
    is_left,
    locate,
    mutate,
)
from jerk.memory import Sequence, Sequences

Kind = Literal["explore", "replay", "mutant"]
Embedding = NDArray[np.float32]


@dataclass
class Play:
    """One episode. Rewards are raw; steps count from the episode's start."""

    level: str
    kind: Kind = "explore"
    source: Sequence | None = None
    """The sequence that is replayed or was mutated."""
    plan: Actions = field(default_factory=lambda: np.zeros(0, np.uint8))
    """What is to be played first."""
    intact: int = 0
    """How many steps of the plan, in front, are the source's own."""
    pointer: int = 0
    """The next action of the plan."""
    player: int | None = None
    """Who plays all that is not planned: RULE, POLICY or MEMORY; None: bout by bout, by shares."""
    shared: float | None = None
    """The furthest point when these had been played; None: not yet, or there is no source."""
    departed: int = 0
    """Steps played by then."""
    bout: Bout = Bout()  # noqa: RUF009 - a tuple
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    embeddings: list[NDArray[np.float16]] = field(default_factory=list)
    """Of the observations before each action, where something compares them."""
    frames: list[NDArray[np.uint8]] = field(default_factory=list)
    """The newest frames of these observations, where something learns from them."""
    total: float = 0.0
    furthest: float = 0.0
    lost: int = 0
    """Steps on end at which what is seen matched no step of the plan nearby."""
    looked: bool = False
    """Whether a step of the plan was found by what is seen, so that steps may have been skipped."""
    exploring: bool = False
    """Whether the last action was exploration's."""
    given: float = 0.0
    """The furthest point when exploration took over; 0 before."""

    def next_action(
        self,
        rng: Rng,
        *,
        moves: Moves,
        config: JerkConfig,
        shares: Shares,
        seen: Embedding | None = None,
    ) -> int:
        """Of the plan as long as there is one, then of exploration (or waiting).

        seen: the embedding of what is seen now. -> an action, or POLICY or MEMORY: ask these.
        """
        length = len(self.plan)
        left = is_left(len(self.actions), self.pointer, self.lost, length=length, config=config)
        if self.pointer < length and left:
            self.plan, self.intact = self.plan[: self.pointer], min(self.intact, self.pointer)
        if self.source is not None and self.shared is None and self.pointer >= self.intact:
            self.shared, self.departed = self.furthest, len(self.actions)
        if self.pointer < len(self.plan):
            return self.planned(seen, config=config)
        if not self.exploring:
            self.exploring, self.given = True, self.furthest
        if self.kind == "replay" and not config.go_on:
            return moves.wait
        if self.player in (POLICY, MEMORY):
            return self.player
        # What a replay has reached is not given away by turning back.
        action, self.bout = explore(
            self.bout,
            rng,
            moves=moves,
            config=config,
            shares=shares if self.player is None else Shares(),
            turns=self.kind != "replay",
        )
        return action

    def planned(self, seen: Embedding | None, *, config: JerkConfig) -> int:
        """The plan's action for what is seen; MEMORY where that is nothing it knows."""
        found: int | None = self.pointer
        known = None if self.source is None else self.source.embeddings
        if config.closed_loop and known is not None and self.pointer < self.intact:
            assert seen is not None, "a closed loop must see"
            self.looked = True
            found = locate(
                known[: self.intact],
                seen,
                expected=self.pointer,
                window=config.window + self.lost,
                limit=config.match_steps,
            )
        if found is None:
            self.lost += 1
            self.pointer += 1
            return MEMORY
        self.lost = 0
        self.pointer = found + 1
        return int(self.plan[found])

    @property
    def fallback(self) -> int | None:
        """What an open loop would do now; None beyond the plan."""
        return None if self.exploring else int(self.plan[self.pointer - 1])

    def add(self, action: int, reward: float) -> None:
        """What was played, and what it brought."""
        self.actions.append(action)
        self.rewards.append(reward)
        self.total += reward
        self.furthest = max(self.furthest, self.total)
        if self.exploring:
            self.bout = self.bout._replace(reward=self.bout.reward + reward)

    def save(self) -> dict[str, Any]:
        """For msgpack; without the frames, which are arrays of a checkpoint."""
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "source": None if self.source is None else self.source.save(),
            "plan": self.plan.tobytes(),
            "bout": list(self.bout),
            "actions": bytes(self.actions),
            "embeddings": b"".join(row.tobytes() for row in self.embeddings),
        }

    @classmethod
    def restore(cls, saved: dict[str, Any], sequences: Sequences) -> "Play":
        """What `save` was called on."""
        # Earlier versions saved neither `looked` nor `given`.
        play = cls(**{name: saved[name] for name in PLAIN if name in saved})
        if saved["source"] is not None:  # a full level may have forgotten it by now
            known = sequences.numbered(saved["level"], saved["source"]["number"])
            play.source = Sequence.restore(saved["source"]) if known is None else known
        play.plan = np.frombuffer(saved["plan"], np.uint8).copy()
        play.bout = Bout(*saved["bout"])
        play.actions = list(saved["actions"])
        if saved["embeddings"]:
            rows = np.frombuffer(saved["embeddings"], np.float16).copy()
            play.embeddings = list(rows.reshape(len(play.actions), -1))
        return play


PLAIN = (
    *("level", "kind", "intact", "pointer", "player", "shared", "departed"),
    *("rewards", "total", "furthest", "lost", "looked", "exploring", "given"),
)


def begin(
    level: str,
    sequences: Sequences,
    rng: Rng,
    *,
    config: JerkConfig,
    env_steps: int,
) -> Play:
    """Decide what an episode on that level is for."""
    best = sequences.best(level)
    if best is None:
        return Play(level)
    if rng.random() < exploit_probability(config, env_steps):
        return replay(level, best)
    if not config.mutate:
        return Play(level)
    if config.trial_share > 0.0 and rng.random() < config.trial_share:
        return replay(level, sequences.promising(level))
    mutant = mutate(best.actions, rng, best=best.mean, config=config)
    return Play(level, "mutant", best, mutant.actions, mutant.intact)


def replay(level: str, sequence: Sequence) -> Play:
    """An episode that plays a sequence as it is."""
    return Play(level, "replay", sequence, sequence.actions, len(sequence.actions))


@dataclass(frozen=True)
class Outcome:
    """What an ended episode did to the sequences."""

    kept: Sequence | None = None
    """The sequence that its actions are."""
    improved: bool = False


def finish(play: Play, sequences: Sequences, *, config: JerkConfig, cut: bool) -> Outcome:
    """Learn from an ended episode. cut: it ended for a change of level, not by what was played.

    A replay adds to the returns of its sequence: its own return where it waits for the end (as
    published), else what its plan had brought. A run may be a new sequence where it got further
    than what it shares with its source; that of a replay only where it got further than the best.
    """
    source, before = play.source, sequences.best(play.level)
    best = before.mean if before is not None else 0.0
    if play.kind == "replay" and source is not None and not cut:
        value = play.furthest if play.shared is None else play.shared
        source.returns.append(value if config.go_on else play.total)
        length = len(source.actions)
        blind = source.embeddings is None and not play.looked and len(play.embeddings) >= length
        if blind and value >= source.mean:  # of another run, or dropped: seen on the way
            source.embeddings = np.stack(play.embeddings[:length])
    length, value = furthest_point(play.rewards)
    waited = play.kind == "replay" and not config.go_on
    known = source is not None and (play.shared is None or length <= play.departed)
    ratio = 1.0 if play.kind == "replay" else config.keep_ratio
    if waited or known or not is_kept(value, best, ratio=ratio):
        return Outcome()
    actions = np.array(play.actions[:length], np.uint8)
    embeddings = np.stack(play.embeddings[:length]) if play.embeddings else None
    kept = sequences.add(play.level, actions, value, embeddings=embeddings)
    improved = before is not None and kept is not None and sequences.best(play.level) is kept
    return Outcome(kept, improved=improved and kept is not before)
