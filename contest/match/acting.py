"""How a policy is asked for actions: with its chance, told where episodes begin, by which rules."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from contest.match.references import Policy
from experiment.config import subset
from experiment.errors import UserError
from retro_env import EnvConfig

RULES = ("scenario", "frame_skip", "stick_probability", "episode_steps")
"""Fields of an environment that the contest decides, whatever an agent was trained with."""


def contest_settings(config: Any) -> EnvConfig:
    """What an agent of that config sees, under the contest's rules. Errors: UserError (it was
    trained to act more or less often)."""
    rules = EnvConfig()
    if config.frame_skip != rules.frame_skip:
        raise UserError(
            f"the agent was trained with --frame-skip {config.frame_skip}, and the contest has "
            f"{rules.frame_skip}: train it with that"
        )
    decided = {name: getattr(rules, name) for name in RULES}
    return dataclasses.replace(subset(config, EnvConfig), **decided)


@final
class Actor:
    """Asks a policy, in the words that its `act` knows.

    A recurrent agent's `act` takes `starts`, the rows that begin an episode, because it remembers
    from call to call. One that acts otherwise while it learns takes `explore`.
    """

    def __init__(self, policy: Policy, *, explore: bool = False) -> None:
        """Errors: UserError (it cannot explore)."""
        known = inspect.signature(policy.act).parameters
        if explore and "explore" not in known:
            raise UserError("this agent has no chance to act with: give --mode frozen")
        self.policy: Any = policy
        self.words: dict[str, Any] = {"explore": True} if explore else {}
        self.remembers = "starts" in known

    def act(
        self, obs: NDArray[np.uint8], *, starts: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W], starts bool [N] -> actions int64 [N]."""
        told = {**self.words, "starts": starts} if self.remembers else self.words
        actions: NDArray[np.int64] = self.policy.act(obs, **told)
        return actions
