"""What agents with a net share: saved as a checkpoint, built and loaded from one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from retro_agents.contract.policy import Actions, Flags, Images
from retro_agents.ground.device import computes_in_bf16
from retro_agents.nets.actor_critic import ActorCritic, make_actor_critic, sample_actions
from retro_agents.nets.transfer import check_parts, check_strides, load_net
from retro_agents.run.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from retro_agents.run.config import flat, from_dict, to_dict
from retro_agents.run.fields import flag_with

Net = TypeVar("Net", bound=nn.Module)
Config = TypeVar("Config")


class NetAgent(Generic[Net, Config]):
    """A net and the config that shapes it; what it does, each agent says for itself."""

    name: ClassVar[str]
    """Of its package."""
    config_type: ClassVar[type]
    same: ClassVar[str]
    """What gives the net its shape: fields of the config, and words for what stands elsewhere."""

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
        """The agent in a checkpoint folder. UserError where it is cut off, or of another agent or
        version."""
        saved = load_checkpoint(folder).of(cls.name)
        saved.config_as(cls.config_type)  # UserError, with its folder
        agent = cls.build(saved.config, device=device)
        agent.load_weights(saved)
        return agent

    def save(self, folder: Path | str) -> None:
        """Write weights and config, without a run's state, as a checkpoint that `load` reads."""
        tensors = {"net": self.net.state_dict()}
        save_checkpoint(folder, agent=self.name, config=self.config, tensors=tensors)

    def load_weights(self, saved: Checkpoint) -> None:
        """Take a checkpoint's net. UserError where it is another agent's or another net."""
        theirs, ours = flat(saved.of(self.name).config), flat(to_dict(self.config))
        parts = (config.get("encoder_parts", "") for config in (theirs, ours))
        check_parts(*parts, source=saved.folder)
        widths = (config.get("widths", "") for config in (theirs, ours))
        check_strides(*widths, source=saved.folder)
        known = [name for name in self.same.split(", ") if name in theirs and name in ours]
        flags = [flag_with(name, theirs[name]) for name in known if theirs[name] != ours[name]]
        self.take(saved.tensors["net"], saved.folder, flags=flags)

    def arrays(self) -> dict[str, NDArray]:
        """The net's weights, for another process's agent to `take_arrays`."""
        return {name: value.cpu().numpy() for name, value in self.net.state_dict().items()}

    def take_arrays(self, weights: Mapping[str, NDArray]) -> None:
        """Take what `arrays` gave."""
        self.net.load_state_dict({name: torch.tensor(rows) for name, rows in weights.items()})

    def take(
        self, weights: Mapping[str, Tensor], source: Path | str, *, flags: Sequence[str] = ()
    ) -> None:
        """Take a net's weights, which are from `source`. flags: those that would make its shape,
        where they are known. UserError where it has another one."""
        same = f"give {' '.join(flags)}" if flags else f"use the same {self.same}"
        load_net(self.net, weights, source=source, instead=same)


class PolicyAgent(NetAgent[Net, Config]):
    """Acts by the most probable action of a policy without memory; exploring, by a draw from it."""

    logits = True
    half = False
    """Acting in bf16."""

    @torch.no_grad()
    def act(self, obs: Images, *, explore: bool = False, starts: Flags | None = None) -> Actions:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. explore: draw them from the policy. starts: not
        needed, nothing is remembered."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            logits = self.scores(torch.from_numpy(obs).to(self.device))
        if explore:
            uniforms = torch.rand(len(obs), device=self.device)
            return sample_actions(logits.log_softmax(dim=1), uniforms).cpu().numpy()
        return logits.argmax(dim=1).cpu().numpy()

    def scores(self, images: Tensor) -> Tensor:
        """Logits [B,A] of images uint8 [B,C,H,W], with gradient."""
        raise NotImplementedError


class ActorCriticAgent(NetAgent[ActorCritic, Config]):
    """Acts by the most probable action; exploring, by a draw from the policy."""

    same = "encoder, widths, pool, hidden, recurrent, recurrent_hidden, actions, image, stack"
    make_net = staticmethod(make_actor_critic)
    logits = True

    def __init__(self, net: ActorCritic, config: Config, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
        precision: str = config.precision  # type: ignore[attr-defined]
        self.half = computes_in_bf16(precision, self.device)
        self.state = self.no_state(0)

    def autocast(self) -> torch.autocast:
        """The net's precision. Within an outer one, weights are cast once: for many calls."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def no_state(self, rows: int) -> Tensor:
        """What a recurrent net remembers of nothing, [rows,S]; S is 0 without one."""
        core = self.net.core
        return torch.zeros(rows, 0 if core is None else core.state_size, device=self.device)

    @torch.no_grad()
    def evaluate(
        self, images: Tensor, *, state: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Images [N,C,H,W] on the device -> log-probabilities [N,A], values [N], new state."""
        with self.autocast():
            logits, values, after = self.net(images, state=state, starts=starts)
        return logits.log_softmax(dim=1), values, after

    def act(self, obs: Images, *, explore: bool = False, starts: Flags | None = None) -> Actions:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. explore: draw them from the policy.

        starts: rows that begin an episode, for a recurrent net, which remembers between calls.
        """
        if len(self.state) != len(obs):
            self.state = self.no_state(len(obs))
        begins = torch.from_numpy(np.zeros(len(obs), bool) if starts is None else starts)
        log_probs, _, self.state = self.evaluate(
            torch.from_numpy(obs).to(self.device),
            state=self.state,
            starts=begins.to(self.device),
        )
        if explore:
            actions = sample_actions(log_probs, torch.rand(len(obs), device=self.device))
        else:
            actions = log_probs.argmax(dim=1)
        return actions.cpu().numpy()

    def scores(self, images: Tensor) -> Tensor:
        """Logits [B,A] of images uint8 [B,C,H,W], of a net without memory, with gradient."""
        starts = torch.ones(len(images), dtype=torch.bool, device=self.device)
        return self.net(images, state=self.no_state(len(images)), starts=starts)[0]
