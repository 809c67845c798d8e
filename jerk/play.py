"""What one emulator is in the middle of: an episode that replays, mutates or explores."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jerk import slots
from jerk.config import JerkConfig
from jerk.explorer import Rhythm
from jerk.learner import (
    Actions,
    Bout,
    Moves,
    Player,
    Rng,
    Shares,
    draw_player,
    exploit_probability,
    explore,
    furthest_point,
    is_kept,
    mutate,
)
from jerk.memory import Sequences, from_plain, to_plain
from jerk.recovery import GIVE_UP_STEPS, JUMP_STEPS, OFF_RETURN, OFF_STEPS
from jerk.sequence import Place, StoredSequence

Kind = Literal["explore", "replay", "mutant"]


@dataclass
class Plan:
    """Actions to be played before all else, and how far that is: a sequence, or a mutant of one."""

    source: StoredSequence | None = None
    actions: Actions = field(default_factory=lambda: np.zeros(0, np.uint8))
    intact: int = 0
    """How many of the actions, in front, are the source's own."""
    pointer: int = 0
    """The next action."""
    steps: int = 0
    """Played so far."""
    departed: int | None = None
    """Steps played when the source's own were over; None: they are not."""
    chosen: list[int] = field(default_factory=list)
    """The variant that is played in each of the source's slots."""
    expected: NDArray[np.float32] | None = None
    """The return before each action in the run that is followed, where it recovers."""
    off: int = 0
    """Steps on end at which the return was another."""
    missed: int | None = None
    """The step of the source at which it left its way first."""

    @classmethod
    def of(cls, source: StoredSequence | None) -> "Plan":
        """A sequence as it is."""
        if source is None:
            return cls()
        return cls(source, source.improved(), len(source.actions), expected=source.gained)

    def recover(
        self, gained: float, nearest: Callable[[], tuple[StoredSequence, int] | None]
    ) -> None:
        """Where the return has been another than expected for long, go on as another sequence did
        from a place like this, or give up. gained: the return so far. nearest: gives that sequence
        and its step, or None."""
        if self.expected is None or self.pointer >= len(self.actions):
            return
        expected = float(self.expected[self.pointer])
        self.off = self.off + 1 if abs(expected - gained) > OFF_RETURN else 0
        if self.off <= OFF_STEPS:
            return
        if self.missed is None and self.departed is None:
            self.missed = self.pointer
        if (found := nearest()) is not None:
            other, self.pointer = found
            self.actions, self.intact, self.off = other.actions, 0, 0
            self.expected = other.gained
        elif self.off > GIVE_UP_STEPS:
            self.give_up()

    def give_up(self) -> None:
        """Play nothing of it any more."""
        self.actions = self.actions[: self.pointer]
        self.intact = min(self.intact, self.pointer)

    def next_action(self) -> int | None:
        """The next action; None where the plan is over, or given up: it was thrown back again and
        again."""
        if self.steps - self.pointer > len(self.actions):
            self.give_up()
        if self.departed is None and self.pointer >= self.intact:
            self.departed = self.steps
        if self.pointer >= len(self.actions):
            return None
        self.steps += 1
        self.pointer += 1
        return int(self.actions[self.pointer - 1])


@dataclass
class Play:
    """One episode. Rewards are raw; steps count from the episode's start."""

    level: str
    kind: Kind = "explore"
    plan: Plan = field(default_factory=Plan)
    bout: Bout = Bout()  # noqa: RUF009 - a tuple
    """Of the exploration that comes after the plan."""
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    embeddings: list[NDArray[np.float16]] = field(default_factory=list)
    """Of the observations before each action, where a memory stores them."""
    frames: list[NDArray[np.uint8]] = field(default_factory=list)
    """The newest frames of these observations, where the best runs are written."""
    rhythm: Rhythm | None = None
    """The explorer, where it is one of rhythm."""
    gained: float = 0.0
    """Return so far."""
    holding: int = 0
    """Steps that the policy's last action is still held."""

    def next_action(
        self,
        rng: Rng,
        *,
        moves: Moves,
        config: JerkConfig,
        shares: Shares,
        sequences: Sequences,
    ) -> tuple[int | None, Player]:
        """Of the plan as long as there is one, then of exploration (or waiting) -> an action, and
        who may know better. None: nobody else than that player knows one.

        sequences: among which a replay may find another to go on with.
        """
        if config.recover:
            self.plan.recover(self.gained, lambda: self.nearest(sequences, jump=moves.right_jump))
        if (action := self.plan.next_action()) is not None:
            return action, "rule"
        if self.kind == "replay":
            if not config.go_on:
                return moves.wait, "rule"
        else:
            shares = shares._replace(policy=0.0)
        if self.rhythm is not None:
            if self.bout.steps_left == 0:
                self.bout = Bout(steps_left=-1, player=draw_player(rng, shares))
            if self.bout.player != "rule" and not self.rhythm.stuck:
                return None, self.bout.player
            return self.rhythm.next_action(rng, moves=moves, scripts=config.scripts), "rule"
        # What a replay has reached is not given away by turning back.
        turns = self.kind != "replay"
        action, self.bout = explore(
            self.bout, rng, moves=moves, config=config, shares=shares, turns=turns
        )
        return action, self.bout.player

    def add(self, action: int, reward: float) -> None:
        """What was played, and what it brought."""
        if len(self.actions) >= self.plan.steps:  # by exploration
            self.bout = self.bout._replace(reward=self.bout.reward + reward)
        self.actions.append(action)
        self.rewards.append(reward)
        self.gained += reward
        if self.rhythm is not None:
            self.rhythm.add(reward)

    def nearest(self, sequences: Sequences, *, jump: int) -> tuple[StoredSequence, int] | None:
        """A sequence, and its step, that was in a place like this."""
        latest = self.actions[: -JUMP_STEPS - 1 : -1]
        since = latest.index(jump) if jump in latest else JUMP_STEPS
        reward = self.rewards[-1] if self.rewards else 0.0
        return sequences.nearest(self.level, Place(self.gained, reward, since), jump=jump)

    def save(self) -> dict[str, Any]:
        """For msgpack; without the frames, which are arrays of a checkpoint."""
        return to_plain(replace(self, frames=[]))

    @classmethod
    def restore(cls, saved: dict[str, Any], sequences: Sequences) -> "Play":
        """What `save` was called on."""
        play: Play = from_plain(saved, cls)
        if (source := play.plan.source) is not None:  # a full level may have forgotten it
            play.plan.source = sequences.numbered(play.level, source.number) or source
        return play


def begin(
    level: str, sequences: Sequences, rng: Rng, *, moves: Moves, config: JerkConfig, env_steps: int
) -> Play:
    """Decide what an episode on that level is for."""
    best = sequences.best(level)
    rhythm = Rhythm.drawn(rng) if config.rhythm else None
    if best is None:
        return Play(level, rhythm=rhythm)
    if rng.random() < exploit_probability(config, env_steps):
        plan = Plan.of(best)
        if config.slots:
            done = env_steps / max(1, config.run.timesteps)
            plan.chosen = slots.choose(best.slots, best.actions, rng, done=done, moves=moves)
            plan.actions = slots.applied(best.actions, best.slots, plan.chosen)
        return Play(level, "replay", plan, rhythm=rhythm)
    if not config.mutate:
        return Play(level, rhythm=rhythm)
    actions = mutate(best.improved(), rng)
    plan = Plan(best, actions, len(actions), expected=best.gained)
    return Play(level, "mutant", plan, rhythm=rhythm)


def finish(
    play: Play, sequences: Sequences, *, config: JerkConfig, cut: bool
) -> tuple[StoredSequence | None, bool]:
    """Learn from an ended episode -> the sequence that its actions became, and whether that is the
    best now. cut: it ended for a change of level, not by what was played.

    A replay adds to the returns of its sequence: its own return where it waits for the end (as
    published), else what its plan had brought. A run may be a new sequence where it got further
    than what it shares with its source; that of a replay only where it got further than the best.
    """
    plan, source, before = play.plan, play.plan.source, sequences.best(play.level)
    best = before.mean if before is not None else 0.0
    if play.kind == "replay" and source is not None and not cut:
        sums = np.cumsum(play.rewards)
        value = float(sums[: plan.departed].max(initial=0.0))
        if config.recover:
            value = max(0.0, float(sums.max()))
        elif not config.go_on:
            value = float(sums[-1])
        source.add_return(value, latest=config.latest_returns)
        if config.slots:
            judge(source, plan)
    length, value = furthest_point(play.rewards)
    waited = play.kind == "replay" and not config.go_on
    known = source is not None and (plan.departed is None or length <= plan.departed)
    ratio = 1.0 if play.kind == "replay" else config.keep_ratio
    if waited or known or not is_kept(value, best, ratio=ratio):
        return None, False
    actions = np.array(play.actions[:length], np.uint8)
    kept = sequences.add(
        play.level,
        actions,
        value,
        rewards=np.array(play.rewards[:length], np.float32) if config.recover else None,
        latest=config.latest_returns,
    )
    improved = before is not None and kept is not None and sequences.best(play.level) is kept
    return kept, improved and kept is not before


def judge(source: StoredSequence, plan: Plan) -> None:
    """Count how far an ended replay of `source` went by its plan, in the slots of these steps; a
    failure that lies in none opens one."""
    length = len(source.actions)
    ended = plan.missed
    if ended is None:
        ended = plan.pointer if plan.departed is None else length
    slots.judge(source.slots, plan.chosen, ended)
    source.ends.append(ended)
    if (slot := slots.opened(source.slots, ended, length=length, ends=source.ends)) is not None:
        source.slots.append(slot)
