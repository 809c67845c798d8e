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
    """Finds the moves among the actions by their names. Raises UserError if one is missing.

    Differs from the published agent, which has every button, if there are 7 actions: a jump is B
    alone (momentum carries it) and waiting is DOWN.
    """

    def first(*wanted: str) -> int:
        for name in wanted:
            if name in names:
                return names.index(name)
        raise UserError(
            f"JERK plays only platform games, with an action {wanted[-1]}: give levels such as "
            "bramble-train"
        )

    return Moves(
        right=first("RIGHT"),
        left=first("LEFT"),
        right_jump=first("RIGHT B", "B"),
        left_jump=first("LEFT B", "B"),
        wait=first("", "DOWN"),
        names=tuple(names),
    )


BoutPlayer = Literal["rule", "policy", "memory"]
"""The player of a bout of exploration."""


class Bout(NamedTuple):
    """A stretch of exploration in one direction, and its state."""

    left: bool = False
    steps_left: int = 0
    """If negative, the bout lasts until the episode ends."""
    jump_left: int = 0
    """Steps for which the current jump is still held."""
    reward: float = 1.0
    """The reward since the bout began; positive before the first bout, which turns right."""
    player: BoutPlayer = "rule"


class Shares(NamedTuple):
    """Current fractions of the bouts to the right that other players get."""

    policy: float = 0.0
    """Positive only in replays."""
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
    """Returns (the rule's next action, bout); a new bout begins when the last one is over. The
    action is None if another player plays the bout.

    Bouts run right; with `turns`, one runs left after a bout to the right without any reward. At
    each step a jump begins with `jump_probability`, held for `jump_steps`. The policy and the
    memory each play a share of the bouts to the right. Source: openai/retro-baselines, JERK.
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
    """Draws the player of a bout to the right."""
    if shares.policy + shares.memory == 0.0:
        return "rule"
    draw = rng.random()
    if draw < shares.policy:
        return "policy"
    return "memory" if draw < shares.policy + shares.memory else "rule"


def exploit_probability(config: JerkConfig, env_steps: int) -> float:
    """Probability that an episode replays the best sequence unchanged: bias + growth t/T, at most
    1.

    Source: openai/retro-baselines, JERK, where it grows by 1.
    """
    done = env_steps / max(1, config.run.timesteps)
    return min(1.0, config.exploit_bias + config.exploit_growth * done)


def furthest_point(rewards: Sequence[float]) -> tuple[int, float]:
    """Returns (steps up to the first maximum of the running sum of rewards, that sum)."""
    sums = np.cumsum(np.asarray(rewards, np.float64))
    length = int(sums.argmax()) + 1
    return length, float(sums[length - 1])


def is_kept(value: float, best: float, *, ratio: float) -> bool:
    """Whether a run with the return `value` becomes a sequence: always while the best is poor."""
    return best <= 0.0 or value > ratio * best


def mutate(actions: Actions, rng: Rng) -> Actions:
    """Cuts off the tail of [L]; every length from 0 to L is equally likely.

    Differs from the contest's entry, which cuts off up to L/5, removes stretches and redraws
    actions: that does not repair early failures, and cost a tenth of the return.
    """
    return actions[: int(rng.integers(0, len(actions) + 1))]
