"""The acting side of Rainbow: pick actions, be saved, be loaded."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rainbow.config import RainbowConfig
from rainbow.learner import RainbowNet, epsilon_ladder, q_values, support
from retro_agents.contract.policy import Actions, Flags, Images, Play
from retro_agents.ground.device import acts_in_bf16, memory_for
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import choose
from retro_agents.nets.encoders import encoder_of
from retro_agents.nets.heads import QHead
from retro_agents.nets.net_agent import NetAgent, acting
from retro_agents.run.checkpoint import Checkpoint


@memory_for("such a net", instead="give smaller --hidden or --widths, or fewer --atoms")
def make_net(config: RainbowConfig) -> RainbowNet:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    encoder = encoder_of(config.net, spec.observation_shape, frames=spec.frame_stack)
    head = QHead(
        encoder.features,
        actions=spec.actions,
        atoms=1 if config.quantiles or not config.distributional else config.atoms,
        hidden=config.net.hidden,
        dueling=config.dueling,
        noisy=config.noisy,
        sigma0=config.sigma0,
        streams=config.streams,
        quantiles=config.quantiles,
    )
    return RainbowNet(encoder, head)


class RainbowAgent(NetAgent[RainbowNet, RainbowConfig]):
    """Acts on expected returns. As it learns (`draw`), each environment has noise of its own.

    On a CPU it acts in fp32 whatever the precision: for so few observations, casting the weights at
    every step costs more than bf16 saves.
    """

    name, config_type = "rainbow", RainbowConfig
    make_net = staticmethod(make_net)
    logits = False

    def __init__(self, net: RainbowNet, config: RainbowConfig, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
        self.z = support(config, self.device)
        self.half = acts_in_bf16(config.computing.precision, self.device)

    def load_weights(self, saved: Checkpoint) -> None:
        """Take a checkpoint's net. Raises UserError if it is another agent's, has another shape, or
        has atoms for other returns."""
        super().load_weights(saved)
        ends = [self.config.v_min, self.config.v_max]
        theirs = [saved.setting("v_min"), saved.setting("v_max")]
        if self.z is not None and ends != theirs:
            raise UserError(
                f"{saved.folder} has its atoms from {theirs[0]:g} to {theirs[1]:g}, not "
                f"{ends[0]:g} to {ends[1]:g}: give the same --v-min and --v-max"
            )

    @acting
    @torch.no_grad()
    def act(
        self,
        obs: Images,
        *,
        play: Play | None = None,
        starts: Flags | None = None,
        epsilon: NDArray[np.float32] | None = None,
    ) -> Actions:
        """Chooses actions. obs uint8 [N,C,H,W] -> int64 [N]. play: how; None: as its config says.

        draw: with noise; a net without noise takes random actions at the rates `epsilon` [N], by
        default those at the end of a run with N environments. starts: unused.
        """
        play = self.how(play)
        explore = play == "draw"
        noise = self.net.head.sample_noise(len(obs), self.device) if explore else None
        with self.autocast():
            outputs = self.net(torch.from_numpy(obs).to(self.device), noise)
        values = q_values(outputs, self.z)
        if not explore:
            scores = values.log_softmax(dim=1) if play.startswith("draw") else values
            return choose(scores, play).cpu().numpy()
        actions = values.argmax(dim=1).cpu()
        if epsilon is None and not self.config.noisy:
            last, exponent = self.config.epsilon_final, self.config.epsilon_ladder
            epsilon = epsilon_ladder(last, len(obs), exponent=exponent)
        if epsilon is not None:
            random = torch.rand(len(obs)) < torch.from_numpy(epsilon)
            drawn = torch.randint(self.net.head.actions, (len(obs),))
            actions = torch.where(random, drawn, actions)
        return actions.numpy()

    def scores(self, images: Tensor) -> Tensor:
        """Expected returns [B,A] of images uint8 [B,C,H,W], without noise, with gradient."""
        return q_values(self.net(images), self.z)


build, load = RainbowAgent.build, RainbowAgent.load
