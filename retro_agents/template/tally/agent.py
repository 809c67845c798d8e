"""What plays: built, loaded and saved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.contract.policy import Play, one_or_many
from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint
from retro_agents.run.config import from_dict
from tally.config import TallyConfig


class TallyAgent:
    """Holds the sum of rewards and the count of every action, float64 [2,A]."""

    def __init__(self, config: TallyConfig, tallies: NDArray[np.float64] | None = None) -> None:
        self.config = config
        actions = config.env.spec().actions
        self.tallies = np.zeros((2, actions)) if tallies is None else tallies

    @one_or_many
    def act(
        self,
        obs: NDArray[np.uint8],
        *,
        play: Play | None = None,
        starts: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """Images uint8 [N,C,H,W] -> actions int64 [N], or one image -> its action.

        play: how to choose; None: as the agent is meant to play. starts: rows that begin an
        episode, for an agent that remembers.
        """
        sums, counts = self.tallies
        return np.full(len(obs), (sums / np.maximum(counts, 1.0)).argmax())

    def save(self, folder: Path | str) -> None:
        """Write a checkpoint, with which others can play."""
        save_checkpoint(folder, agent="tally", config=self.config, tensors={"net": self.tensors()})

    def tensors(self) -> dict[str, Tensor]:
        """All that was learned."""
        return {"tallies": torch.from_numpy(self.tallies)}


def build(
    config: Mapping[str, Any], weights: Mapping[str, Tensor] | None = None, *, device: str = "cpu"
) -> TallyAgent:
    """The agent with a checkpoint's config and weights; without weights, one that knows nothing."""
    tallies = None if weights is None else weights["tallies"].numpy()
    return TallyAgent(from_dict(TallyConfig, config), tallies)


def load(folder: Path | str, *, device: str = "cpu") -> TallyAgent:
    """The agent of a checkpoint. Raises UserError if it is of another agent."""
    saved = load_checkpoint(folder).of("tally")
    return build(saved.config, saved.tensors["net"])
