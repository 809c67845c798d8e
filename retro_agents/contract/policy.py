"""The interfaces of policies and trained agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor, nn  # slow to import

Images = NDArray[np.uint8]
Actions = NDArray[np.int64]
Flags = NDArray[np.bool_]


OnCheckpoint = Callable[[Path, dict[str, float]], None]
"""Takes the run's folder, its env_steps, and mean_return: of the last hundred episodes, nan before
one has ended."""


class Policy(Protocol):
    """What acts."""

    config: Any

    def act(self, obs: Images, *, explore: bool = False, starts: Flags | None = None) -> Actions:
        """Chooses actions. obs uint8 [N,C,H,W] -> actions int64 [N].

        explore: whether to explore as in training. starts [N]: rows that begin an episode, for
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
        """The outputs of the exported net by name (`retro-agents export`); a recurrent net's also
        take its state."""
        ...
