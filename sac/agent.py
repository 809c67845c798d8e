"""The acting side of SAC: pick actions, be saved, be loaded."""

import torch
from torch import Tensor

from experiment.device import computes_in_bf16
from experiment.package import Actions, Flags, Images
from nets.actor_critic import sample_actions
from nets.encoders import encoder_of
from nets.net_agent import NetAgent
from sac.config import SACConfig
from sac.learner import SACNet


def make_net(config: SACConfig) -> SACNet:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    encoder, hidden = encoder_of(config.net, spec.observation_shape), config.net.hidden
    return SACNet(encoder, actions=spec.actions, hidden=hidden, temperature=config.temperature)


class SACAgent(NetAgent[SACNet, SACConfig]):
    """Acts by the most probable action; exploring, by a draw from the policy.

    On a CPU it acts in fp32 whatever the precision: for so few observations, casting the weights at
    every step costs more than bf16 saves.
    """

    name, config_type = "sac", SACConfig
    same = "encoder, hidden, actions, image and stack"
    make_net = staticmethod(make_net)
    logits = True

    def __init__(self, net: SACNet, config: SACConfig, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
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


build, load = SACAgent.build, SACAgent.load
