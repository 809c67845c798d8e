"""The acting side of Evolution Strategies: pick actions, be saved, be loaded."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from es.config import ESConfig
from es.net import ESNet, config_of, weights_of
from experiment.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from experiment.config import from_dict
from nets.transfer import load_net


class ESAgent:
    """Acts by the best score; by a draw from the policy where the config says so, or exploring."""

    def __init__(self, net: ESNet, config: ESConfig, *, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.net, self.config = net.to(self.device), config

    @torch.no_grad()
    def act(self, obs: NDArray[np.uint8], *, explore: bool = False) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. explore: draw from a policy with logits."""
        scores = self.scores(torch.from_numpy(obs).to(self.device)).cpu()
        if self.config.output == "logits" and (explore or self.config.draw_actions):
            return torch.multinomial(scores.softmax(dim=1), 1)[:, 0].numpy()
        return scores.argmax(dim=1).numpy()

    def scores(self, images: Tensor) -> Tensor:
        """Logits or expected returns [B,A] of images uint8 [B,C,H,W]."""
        found: Tensor = self.net(images)
        return found

    def save(self, folder: Path | str) -> None:
        """Write weights and config, without a run's state, as a checkpoint that `load` reads."""
        save_checkpoint(
            Path(folder),
            agent="es",
            config=self.config,
            counters={"env_steps": 0},
            tensors={"net": self.net.state_dict()},
        )

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> "ESAgent":
        """The agent in a checkpoint folder. UserError where it is cut off or another agent's."""
        saved = load_checkpoint(folder).of("es")
        config = from_dict(ESConfig, saved.config)
        net = ESNet(config)
        load_weights(net, saved)
        return cls(net, config, device=device)

    @classmethod
    def start(
        cls, config: ESConfig, init: Path | str | None = None, *, device: str = "cpu"
    ) -> "ESAgent":
        """The agent that a run starts from: a checkpoint's net, or an untrained one whose weights
        are drawn from torch's generator. UserError: a net that cannot be searched."""
        saved = load_checkpoint(init) if init else None
        if saved is not None:
            config = config_of(saved, config)
        net = ESNet(config)
        if saved is not None:
            load_weights(net, saved)
        config = replace(config, encoder_sha256=net.encoder_sha256())
        return cls(net, config, device=device)


def load_weights(net: ESNet, saved: Checkpoint) -> None:
    """Take a checkpoint's net. UserError where it has another shape."""
    load_net(
        net,
        weights_of(saved),
        source=saved.folder,
        same="encoder, hidden, streams, atoms, actions, image and stack",
    )
