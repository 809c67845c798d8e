"""What agents with a net share: saved as a checkpoint, built and loaded from one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import Tensor, nn

from experiment.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from experiment.config import from_dict
from nets.transfer import load_net

Net = TypeVar("Net", bound=nn.Module)
Config = TypeVar("Config")


class NetAgent(Generic[Net, Config]):
    """A net and the config that shapes it; what it does, each agent says for itself."""

    name: ClassVar[str]
    """Of its package."""
    config_type: ClassVar[type]
    same: ClassVar[str]
    """The settings that give the net its shape."""

    @staticmethod
    def make_net(config: Any) -> nn.Module:
        """An untrained net for that config, its weights drawn from torch's generator."""
        raise NotImplementedError

    def __init__(self, net: Net, config: Config, *, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.net, self.config = net.to(self.device), config

    @classmethod
    def build(
        cls,
        config: Mapping[str, Any],
        weights: Mapping[str, Tensor] | None = None,
        *,
        device: str = "cpu",
    ) -> Self:
        """The agent of a checkpoint's config and of its net's weights; without these an untrained
        one."""
        own: Any = from_dict(cls.config_type, config)
        net: Any = cls.make_net(own)
        agent = cls(net, own, device=device)
        if weights is not None:
            agent.net.load_state_dict(weights)
        return agent

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> Self:
        """The agent in a checkpoint folder. UserError where it is cut off or another agent's."""
        saved = load_checkpoint(folder).of(cls.name)
        agent = cls.build(saved.config, device=device)
        agent.load_weights(saved)
        return agent

    def save(self, folder: Path | str) -> None:
        """Write weights and config, without a run's state, as a checkpoint that `load` reads."""
        tensors = {"net": self.net.state_dict()}
        save_checkpoint(folder, agent=self.name, config=self.config, tensors=tensors)

    def load_weights(self, saved: Checkpoint) -> None:
        """Take a checkpoint's net. UserError where it is another agent's or of another shape."""
        self.take(saved.of(self.name).tensors["net"], saved.folder)

    def take(self, weights: Mapping[str, Tensor], source: Path | str) -> None:
        """Take a net's weights, which are from `source`. UserError where it has another shape."""
        load_net(self.net, weights, source=source, same=self.same)
