"""The interfaces of policies and trained agents."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, cast, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import expected

if TYPE_CHECKING:
    from torch import Tensor, nn  # slow to import

Images = NDArray[np.uint8]
Actions = NDArray[np.int64]
Flags = NDArray[np.bool_]
Play = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^(best|draw(:(?=.*[1-9])\d*\.?\d+)?|epsilon:(1(\.0*)?|0|0?\.\d+))$",
        description="best (greedy), draw, draw:T with a temperature T, or epsilon:E with a share E",
    ),
]
"""How actions are chosen. best: the most probable action, or the one of the highest value. draw: as
while the agent learns, so a policy samples its actions and Rainbow keeps its noise. draw:T: sampled
at the temperature T. epsilon:E: the best one, but a uniformly random one with probability E."""


FORMER_FLAGS = {"explore": "actions are drawn by --play draw"}
"""Flags that `--play` replaces -> advice."""


def parse_play(play: Play) -> tuple[str, float]:
    """A way to play -> "draw" and its temperature, or "epsilon" and its share of random actions,
    which is 0 for best. Raises UserError if it is none."""
    try:
        kind, _, amount = msgspec.convert(play, Play).partition(":")
    except msgspec.ValidationError:
        raise UserError(f"play {play!r}: expected {expected(Play)}") from None
    if kind == "draw":
        return kind, float(amount or 1.0)
    return "epsilon", float(amount or 0.0)


Act = TypeVar("Act", bound=Callable[..., Actions])


@functools.lru_cache
def observation_shape(env: Any) -> tuple[int, ...]:
    """(C,H,W) with these settings of environments."""
    return env.spec().observation_shape


def one_or_many(act: Act) -> Act:
    """Makes an `act` of many observations [N,C,H,W] accept a single one too, [C,H,W] -> its action.
    Raises UserError if they have another shape than the net's, or are not NumPy's uint8."""

    @functools.wraps(act)
    def acting(self: Any, obs: Images, **options: Any) -> Actions:
        given: Any = obs  # by a user
        if not isinstance(given, np.ndarray):
            kind = type(given).__name__
            raise UserError(f"observations are a {kind}: expected a NumPy array of uint8")
        if (starts := options.get("starts")) is not None:
            options["starts"] = np.atleast_1d(starts)
        if obs.ndim == 3:
            return acting(self, obs[np.newaxis], **options)[0]
        if obs.dtype != np.uint8:
            raise UserError(f"observations are {obs.dtype}: expected uint8, 0 to 255, as they come")
        if obs.shape[1:] != (shape := observation_shape(self.config.env)):
            expected = ", ".join(map(str, shape))
            raise UserError(f"observations {list(obs.shape)}: expected [N, {expected}]")
        return act(self, obs, **options)

    return cast("Act", acting)


OnCheckpoint = Callable[[Path, dict[str, float]], None]
"""Takes the run's folder, its env_steps, and mean_return: of the last hundred episodes, nan before
one has ended."""


class Policy(Protocol):
    """What acts."""

    config: Any

    def act(self, obs: Images, *, play: Play | None = None, starts: Flags | None = None) -> Actions:
        """Chooses actions. obs uint8 [N,C,H,W] -> actions int64 [N]; or [C,H,W] -> one action.

        play: how; None: as the agent's checkpoint says. starts [N]: rows that begin an episode, for
        agents with a memory between calls.
        """
        ...


class Agent(Policy, Protocol):
    """A policy that an agent's package trains, loads or builds."""

    def save(self, folder: Path | str) -> None:
        """Writes a checkpoint that the package's `load` reads."""
        ...


@runtime_checkable
class ScoringPolicy(Policy, Protocol):
    """A policy with a net that scores actions, for search, display and sampling."""

    logits: bool
    """Whether scores are a policy's logits; otherwise they are expected returns."""
    device: Any
    """Of the net, as PyTorch names it."""

    @property
    def recurrent(self) -> bool:
        """Whether the policy also acts by earlier observations, which `scores` does not see."""
        ...

    @property
    def net(self) -> nn.Module:
        """The net, which has an `encoder`."""
        ...

    def scores(self, images: Tensor) -> Tensor:
        """Scores actions, with gradient; larger is better. Images uint8 [B,C,H,W] -> [B,A]."""
        ...

    def outputs(self, images: Tensor) -> dict[str, Tensor]:
        """The outputs of the exported net by name (`retro-agents export`). For a recurrent net
        the function also takes the net's state."""
        ...


class StochasticPolicy(Protocol):
    """An agent that draws its actions, and predicts returns."""

    config: Any
    """Has the sections `run` and `env`."""
    device: Any
    """Of its net, as PyTorch names it."""

    def autocast(self) -> AbstractContextManager[Any]:
        """A context for many calls of `evaluate`, in which the weights are cast only once."""
        ...

    def no_state(self, rows: int) -> Tensor:
        """The initial state of its memory, [rows,S]; S is 0 if it has none."""
        ...

    def evaluate(
        self, images: Tensor, *, state: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluates images [N,C,H,W] on the device. Returns log-probabilities [N,A], values [N] and
        the new state."""
        ...
