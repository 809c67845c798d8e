"""JERK's rules: pure functions of actions, returns and random draws.

A sequence is the actions of one episode up to its furthest point. L is its length. Returns are the
contest's, unscaled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jerk.config import JerkConfig
from retro_env.wrappers import ACTIONS

Ints = NDArray[np.int64]
Actions = NDArray[np.uint8]
Rng = np.random.Generator


class Moves(NamedTuple):
    """The actions that exploration is made of."""

    right: int
    left: int
    right_jump: int
    left_jump: int
    wait: int


def find_moves(actions: int) -> Moves:
    """Their numbers among 7 or 10 actions.

    # Differs from the published agent, which has every button, among 7 actions: a jump is B alone
    (momentum carries it) and waiting is DOWN.
    """
    names = ACTIONS[actions]
    both = "RIGHT B" in names
    return Moves(
        right=names.index("RIGHT"),
        left=names.index("LEFT"),
        right_jump=names.index("RIGHT B" if both else "B"),
        left_jump=names.index("LEFT B" if both else "B"),
        wait=names.index("" if both else "DOWN"),
    )


class Bout(NamedTuple):
    """A stretch of exploration in one direction, and how far it is."""

    left: bool = False
    steps_left: int = 0
    jump_left: int = 0
    """Steps that the present jump is still held."""
    reward: float = 1.0
    """Gained since the bout began; before the first one, as if something had been."""


def explore(bout: Bout, rng: Rng, *, moves: Moves, config: JerkConfig) -> tuple[int, Bout]:
    """The next action of a bout, or of the next bout where it is over -> (action, bout).

    To the right; to the left after a bout to the right that brought nothing. At each step a jump
    begins with `jump_probability`, held for `jump_steps`. Source: openai/retro-baselines, JERK.
    """
    left, steps_left, jump_left, reward = bout
    if steps_left == 0:
        left = not left and reward <= 0.0
        steps_left = config.left_steps if left else config.right_steps
        jump_left, reward = 0, 0.0
    if jump_left == 0 and rng.random() < config.jump_probability:
        jump_left = config.jump_steps
    jumps = jump_left > 0
    if left:
        action = moves.left_jump if jumps else moves.left
    else:
        action = moves.right_jump if jumps else moves.right
    return action, Bout(left, steps_left - 1, max(0, jump_left - 1), reward)


def exploit_probability(config: JerkConfig, env_steps: int, *, best: float) -> float:
    """The chance that an episode replays the best sequence as it is. best: its return.

    linear: bias + t/T (the published agent). cubic: 1 - (1 - best/2max)(1 - (t/T)³).
    # Differs from the seed, ½[best/max + (t/T)³], which ends at ½[best/max + 1]: here the last
    episodes are replays whatever the best sequence is worth.
    """
    time = min(1.0, env_steps / config.timesteps)
    if config.exploit == "linear":
        return min(1.0, config.exploit_bias + time)
    found = min(1.0, max(0.0, best / config.max_return))
    return 1.0 - (1.0 - 0.5 * found) * (1.0 - time**3)


def furthest_point(rewards: Sequence[float]) -> tuple[int, float, int]:
    """Of an episode's rewards: (steps up to the first highest running sum, that sum, the most steps
    between two new highest sums until then)."""
    sums = np.cumsum(np.asarray(rewards, np.float64))
    length = int(sums.argmax()) + 1
    highest = np.maximum.accumulate(np.concatenate([[0.0], sums[:length]]))
    gains = np.flatnonzero(np.diff(highest) > 0.0)
    edges = np.concatenate([[-1], gains, [length - 1]])
    return length, float(sums[length - 1]), int(np.diff(edges).max())


def is_kept(value: float, best: float, *, ratio: float) -> bool:
    """Whether a run that returned `value` becomes a sequence; always while none is worth much."""
    return best <= 0.0 or value > ratio * best


def excise(length: int, rng: Rng) -> Ints:
    """Indices left after cutting out a stretch of up to L/5, with probability min(1, L/100)."""
    kept = np.arange(length)
    longest = length // 5
    if longest == 0 or rng.random() >= length / 100:
        return kept
    size = int(rng.integers(1, longest + 1))
    start = int(rng.integers(0, length - size + 1))
    return np.delete(kept, slice(start, start + size))


def truncate(length: int, rng: Rng) -> int:
    """Length left after cutting up to L/5 off the tail; cutting off nothing leaves everything."""
    return length - int(rng.integers(0, length // 5 + 1))


def resample(
    actions: Actions, rng: Rng, *, choices: int, best: float, max_return: float
) -> Actions:
    """Single actions drawn anew, at the rate 0.2 (1 - best/max) exp(-d/100), d steps before the
    last. The sequence given is left alone."""
    distance = np.arange(len(actions))[::-1]
    found = min(1.0, max(0.0, best / max_return))
    rates = 0.2 * (1.0 - found) * np.exp(-distance / 100)
    drawn = rng.integers(0, choices, len(actions))
    return np.where(rng.random(len(actions)) < rates, drawn, actions).astype(np.uint8)


@dataclass(frozen=True)
class Mutant:
    """A mutated sequence: its actions [L], and of how many in front nothing was changed."""

    actions: Actions
    intact: int


def mutate(actions: Actions, rng: Rng, *, best: float, config: JerkConfig) -> Mutant:
    """Excise, truncate, resample, those that are switched on. best: the sequence's return."""
    kept = np.arange(len(actions))
    if config.excise:
        kept = excise(len(actions), rng)
    if config.truncate:
        kept = kept[: truncate(len(kept), rng)]
    mutated = actions[kept]
    if config.resample:
        mutated = resample(
            mutated, rng, choices=config.actions, best=best, max_return=config.max_return
        )
    changed = (kept != np.arange(len(kept))) | (mutated != actions[kept])
    intact = int(changed.argmax()) if changed.any() else len(kept)
    return Mutant(mutated, intact)
