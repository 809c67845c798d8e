"""The acting side of Tally."""

import numpy as np
import torch

from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint
from retro_agents.run.config import from_dict
from tally.config import TallyConfig


class TallyAgent:
    """Holds the sum of rewards and the count of every action, [2,A]."""

    def __init__(self, config, tallies=None):
        self.config = config
        self.tallies = np.zeros((2, config.env.spec().actions)) if tallies is None else tallies

    def act(self, obs, *, play=None, starts=None):
        sums, counts = self.tallies
        return np.full(len(obs), (sums / np.maximum(counts, 1.0)).argmax())

    def save(self, folder):
        save_checkpoint(folder, agent="tally", config=self.config, tensors={"net": self.tensors()})

    def tensors(self):
        return {"tallies": torch.from_numpy(self.tallies)}


def build(config, weights=None, *, device="cpu"):
    tallies = None if weights is None else weights["tallies"].numpy()
    return TallyAgent(from_dict(TallyConfig, config), tallies)


def load(folder, *, device="cpu"):
    saved = load_checkpoint(folder)
    return build(saved.config, saved.tensors["net"])
