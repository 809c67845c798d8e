"""The acting side of SAC: pick actions, be saved, be loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiment.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from experiment.config import from_dict
from experiment.device import computes_in_bf16
from experiment.package import Actions, Flags, Images
from nets.actor_critic import sample_actions
from nets.encoders import make_encoder, parse_widths
from nets.transfer import load_net
from sac.config import SACConfig
from sac.learner import SACNet


def make_net(config: SACConfig) -> SACNet:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    encoder = make_encoder(
        config.encoder,
        spec.observation_shape,
        widths=parse_widths(config.widths),
        pool=config.pool,
    )
    return SACNet(
        encoder, actions=spec.actions, hidden=config.hidden, temperature=config.temperature
    )


class SACAgent:
    """Acts by the most probable action; exploring, by a draw from the policy.

    On a CPU it acts in fp32 whatever the precision: for so few observations, casting the weights at
    every step costs more than bf16 saves.
    """

    logits = True

    def __init__(self, net: SACNet, config: SACConfig, *, device: str = "cpu") -> None:
        self.device = torch.device(device)
        self.net, self.config = net.to(self.device), config
        half = computes_in_bf16(config.precision, self.device)
        self.half = half and self.device.type == "cuda"

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
        logits: Tensor = self.net.policy(self.net.encoder(images)).float()
        return logits

    def save(self, folder: Path | str) -> None:
        """Write weights and config, without a run's state, as a checkpoint that `load` reads."""
        tensors = {"net": self.net.state_dict()}
        save_checkpoint(folder, agent="sac", config=self.config, tensors=tensors)

    def load_weights(self, saved: Checkpoint) -> None:
        """Take a checkpoint's net. UserError where it is another agent's or of another shape."""
        load_net(
            self.net,
            saved.of("sac").tensors["net"],
            source=saved.folder,
            same="encoder, hidden, actions, image and stack",
        )


def build(
    config: Mapping[str, Any], weights: Mapping[str, Tensor] | None = None, *, device: str = "cpu"
) -> SACAgent:
    """The agent of a checkpoint's config and of its net's weights; without these an untrained
    one."""
    own = from_dict(SACConfig, config)
    agent = SACAgent(make_net(own), own, device=device)
    if weights is not None:
        agent.net.load_state_dict(weights)
    return agent


def load(folder: Path | str, *, device: str = "cpu") -> SACAgent:
    """The agent in a checkpoint folder. UserError where it is cut off or another agent's."""
    saved = load_checkpoint(folder).of("sac")
    agent = build(saved.config, device=device)
    agent.load_weights(saved)
    return agent
