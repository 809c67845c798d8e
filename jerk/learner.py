"""JERK's rules: pure functions of actions, returns and random draws.

A sequence is the actions of one episode up to its furthest point. L is its length. Returns are the
contest's, unscaled.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from jerk.config import JerkConfig
from jerk.explorer import Actions, Moves, Rng
from retro_agents.ground.errors import UserError


def find_moves(names: Sequence[str]) -> Moves:
    """The moves' numbers among the actions of these names. Raises UserError if one is missing.

    Differs from the published agent, which has every button, among 7 actions: a jump is B alone
    (momentum carries it) and waiting is DOWN.
    """

    def first(*wanted: str) -> int:
        for name in wanted:
            if name in names:
                return names.index(name)
        raise UserError(f"JERK runs and jumps: it needs an action {wanted[-1]}, not {list(names)}")

    return Moves(
        right=first("RIGHT"),
        left=first("LEFT"),
        right_jump=first("RIGHT B", "B"),
        left_jump=first("LEFT B", "B"),
        wait=first("", "DOWN"),
        names=tuple(names),
    )


BoutPlayer = Literal["rule", "policy", "memory"]
"""Who plays a bout of exploration."""


class Bout(NamedTuple):
    """A stretch of exploration in one direction, and how far it is."""

    left: bool = False
    steps_left: int = 0
    """Below 0: as many as the episode has."""
    jump_left: int = 0
    """Steps that the present jump is still held."""
    reward: float = 1.0
    """Gained since the bout began; before the first one, as if something had been."""
    player: BoutPlayer = "rule"


class Shares(NamedTuple):
    """Parts of the bouts to the right that others play now."""

    policy: float = 0.0
    """In replays alone."""
    memory: float = 0.0


def explore(
    bout: Bout,
    rng: Rng,
    *,
    moves: Moves,
    config: JerkConfig,
    shares: Shares,
    turns: bool = True,
) -> tuple[int | None, Bout]:
    """The rule's next action in a bout, or in the next bout where it is over -> (action, bout).
    None: the bout's player, which is another, has to say.

    To the right; where it turns, to the left after a bout to the right that brought nothing. At
    each step a jump begins with `jump_probability`, held for `jump_steps`. A share of the bouts to
    the right is played by the policy, and one by the memory. Source: openai/retro-baselines, JERK.
    """
    left, steps_left, jump_left, reward, player = bout
    if steps_left == 0:
        left = turns and not left and reward <= 0.0
        steps_left = config.left_steps if left else config.right_steps
        jump_left, reward = 0, 0.0
        player = "rule" if left else draw_player(rng, shares)
    if player != "rule":
        return None, Bout(left, steps_left - 1, 0, reward, player)
    if jump_left == 0 and rng.random() < config.jump_probability:
        jump_left = config.jump_steps
    jumps = jump_left > 0
    if left:
        action = moves.left_jump if jumps else moves.left
    else:
        action = moves.right_jump if jumps else moves.right
    return action, Bout(left, steps_left - 1, max(0, jump_left - 1), reward)


def draw_player(rng: Rng, shares: Shares) -> BoutPlayer:
    """Who plays a bout to the right."""
    if shares.policy + shares.memory == 0.0:
        return "rule"
    draw = rng.random()
    if draw < shares.policy:
        return "policy"
    return "memory" if draw < shares.policy + shares.memory else "rule"


def exploit_probability(config: JerkConfig, env_steps: int) -> float:
    """The chance that an episode replays the best sequence as it is: bias + growth t/T, at most 1.

    Source: openai/retro-baselines, JERK, where it grows by 1.
    """
    done = env_steps / max(1, config.run.timesteps)
    return min(1.0, config.exploit_bias + config.exploit_growth * done)


def furthest_point(rewards: Sequence[float]) -> tuple[int, float]:
    """Of an episode's rewards: (steps up to the first highest running sum, that sum)."""
    sums = np.cumsum(np.asarray(rewards, np.float64))
    length = int(sums.argmax()) + 1
    return length, float(sums[length - 1])


def is_kept(value: float, best: float, *, ratio: float) -> bool:
    """Whether a run that returned `value` becomes a sequence; always while none is worth much."""
    return best <= 0.0 or value > ratio * best


def mutate(actions: Actions, rng: Rng) -> Actions:
    """[L] with the tail cut off, from any step on: each length from 0 to L is as likely.

    Differs from the contest's entry, which cuts off up to L/5 and also cuts stretches out and
    draws actions anew: that mends no early failure, and cost a tenth of the return.
    """
    return actions[: int(rng.integers(0, len(actions) + 1))]
