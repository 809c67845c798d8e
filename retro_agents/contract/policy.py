"""What acts, and what an agent's package trains."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor, nn  # slow to import

Images = NDArray[np.uint8]
Actions = NDArray[np.int64]
Flags = NDArray[np.bool_]


OnCheckpoint = Callable[[Path, dict[str, float]], None]
"""Called with the run's folder, and what it has `reached`."""


def reached(run: Any) -> dict[str, float]:
    """Of a run that counts env_steps and keeps its recent_returns: these steps, and the mean
    return (nan: no episode has ended)."""
    mean = fmean(run.recent_returns) if run.recent_returns else nan
    return {"env_steps": run.env_steps, "mean_return": mean}


class Policy(Protocol):
    """What acts."""

    config: Any

    def act(self, obs: Images, *, explore: bool = False, starts: Flags | None = None) -> Actions:
        """obs uint8 [N,C,H,W] -> actions int64 [N].

        explore: as it does while it learns. starts [N]: rows that begin an episode, for an agent
        that remembers from call to call.
        """
        ...


class Agent(Policy, Protocol):
    """What a package trains, loads or builds."""

    def save(self, folder: Path | str) -> None:
        """Write a checkpoint that the package's `load` reads."""
        ...


class ScoringPolicy(Policy, Protocol):
    """One with a net whose scores others may search, show or draw actions by."""

    logits: bool
    """Whether scores are a policy's logits; else they are expected returns."""

    @property
    def net(self) -> nn.Module:
        """With an `encoder`."""
        ...

    def scores(self, images: Tensor) -> Tensor:
        """Images uint8 [B,C,H,W] -> [B,A], with gradient; larger is better."""
        ...
