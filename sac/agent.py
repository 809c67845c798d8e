"""The acting side of SAC: pick actions, be saved, be loaded."""

from torch import Tensor

from retro_agents.ground.device import acts_in_bf16, memory_for
from retro_agents.nets.encoders import encoder_of
from retro_agents.nets.net_agent import PolicyAgent
from sac.config import SACConfig
from sac.learner import SACNet


@memory_for("such a net", instead="give smaller --hidden or --widths")
def make_net(config: SACConfig) -> SACNet:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    encoder = encoder_of(config.net, spec.observation_shape, frames=spec.frame_stack)
    return SACNet(
        encoder, actions=spec.actions, hidden=config.net.hidden, temperature=config.temperature
    )


class SACAgent(PolicyAgent[SACNet, SACConfig]):
    """Acts by its policy: on a CPU in fp32 whatever the precision."""

    name, config_type = "sac", SACConfig
    make_net = staticmethod(make_net)

    def __init__(self, net: SACNet, config: SACConfig, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
        self.half = acts_in_bf16(config.computing.precision, self.device)

    def scores(self, images: Tensor) -> Tensor:
        """Logits [B,A] of images uint8 [B,C,H,W], with gradient."""
        return self.net.logits(self.net.encoder(images))


build, load = SACAgent.build, SACAgent.load
