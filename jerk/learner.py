"""JERK's rules: pure functions of actions, returns and random draws; then learning from runs.

A sequence is the actions of one episode up to its furthest point. L is its length. Returns are the
contest's, unscaled.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from jerk.config import JerkConfig
from jerk.explorer import Actions, Moves, Rng
from retro_agents.contract.envs import LARGEST_RETURN, ROUNDING
from retro_agents.contract.policy import ScoringPolicy
from retro_agents.ground.errors import UserError
from retro_agents.run.optimiser import Adam

GRADIENT_NORM = 10.0
"""The gradients of learning from runs are clipped to this norm."""


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


def exploit_probability(config: JerkConfig, env_steps: int, *, best: float) -> float:
    """Probability that an episode replays the best sequence, of mean return `best`, unchanged: bias
    + growth (t/T)^power + by_return R/10000, at most 1.

    Source: openai/retro-baselines, JERK: 1/4 + t/T. The contest's entry: (R/10000 + (t/T)³) / 2.
    """
    done = env_steps / max(1, config.run.timesteps)
    grown = config.exploit_growth * done**config.exploit_power
    return min(1.0, config.exploit_bias + grown + config.exploit_by_return * part_of_most(best))


def part_of_most(value: float) -> float:
    """A return as a fraction of the largest one, from 0 to 1."""
    return min(1.0, max(0.0, value / LARGEST_RETURN))


def furthest_point(rewards: Sequence[float]) -> tuple[int, float]:
    """Returns (steps up to the first maximum of the running sum of rewards, that sum)."""
    sums = np.cumsum(np.asarray(rewards, np.float64))
    length = int((sums > sums.max() - ROUNDING).argmax()) + 1
    return length, float(sums[length - 1])


def is_kept(value: float, best: float, *, ratio: float) -> bool:
    """Whether a run with the return `value` becomes a sequence; always if the best is 0 or less."""
    return best <= 0.0 or value > ratio * best


def mutate(
    actions: Actions, rng: Rng, *, config: JerkConfig, best: float, choices: int
) -> tuple[Actions, int]:
    """Returns a mutant of the best sequence [L], and how many actions at its start are the
    sequence's own. best: its mean return. choices: the number of actions.

    Source: the contest's entry, which excises, cuts up to L/5 off the end, and draws actions anew.
    """
    steps = np.arange(len(actions))
    if config.excise:
        steps = excise(len(actions), rng)
    least = len(steps) - int(config.cut_share * len(steps))
    steps = steps[: int(rng.integers(least, len(steps) + 1))]
    mutant = actions[steps]
    if config.redraw:
        rate = config.redraw * (1.0 - part_of_most(best))
        mutant = redraw(mutant, rng, rate=rate, choices=choices)
    changed = (steps != np.arange(len(steps))) | (mutant != actions[steps])
    return mutant, int(changed.argmax()) if changed.any() else len(steps)


def excise(length: int, rng: Rng) -> NDArray[np.int64]:
    """The steps of L that are left after up to L/5 in a row are taken out, with probability
    L/100."""
    steps = np.arange(length)
    if rng.random() >= length / 100:
        return steps
    size = int(rng.integers(0, length // 5 + 1))
    start = int(rng.integers(0, length - size + 1))
    return np.delete(steps, slice(start, start + size))


def redraw(actions: Actions, rng: Rng, *, rate: float, choices: int) -> Actions:
    """Draws each action of [L] anew with probability rate e^(-d/100), d steps before the last."""
    rates = rate * np.exp(-np.arange(len(actions))[::-1] / 100)
    drawn = rng.integers(0, choices, len(actions))
    return np.where(rng.random(len(actions)) < rates, drawn, actions).astype(np.uint8)


def imitation_losses(scores: Tensor, actions: Tensor, weights: Tensor) -> Tensor:
    """Cross entropy of the actions under softmax(scores), times the weights. [B,A], [B], [B] ->
    [B]."""
    return F.cross_entropy(scores, actions, reduction="none") * weights


class Learner:
    """The policy's net and Adam. Only `update` changes them."""

    def __init__(self, policy: ScoringPolicy, config: JerkConfig) -> None:
        self.policy = policy
        policy.net.requires_grad_(True)  # a net of Evolution Strategies comes without
        self.parameters = list(policy.net.parameters())
        self.optimiser = Adam(self.parameters, lr=config.learning_rate)

    def update(
        self, obs: NDArray[np.uint8], actions: NDArray[np.int64], weights: NDArray[np.float32]
    ) -> dict[str, float]:
        """One step of Adam towards the actions of the best runs. obs [B,C,H,W], actions, weights
        [B] -> metrics.

        Source: self-imitation learning, Oh et al., arXiv:1806.05635. Differs: a run's steps count
        by its return over the level's best, not by how far they exceed a learned value.
        """
        device = self.policy.device
        scores = self.policy.scores(torch.from_numpy(obs).to(device))
        targets = torch.from_numpy(actions).to(device)
        losses = imitation_losses(scores, targets, torch.from_numpy(weights).to(device))
        loss = losses.mean()
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, GRADIENT_NORM)
        self.optimiser.step()
        agrees = (scores.argmax(dim=1) == targets).float().mean()
        return {"imitation_loss": loss.item(), "imitation_agrees": agrees.item()}
