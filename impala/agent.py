"""The acting side of IMPALA: pick actions, be saved, be loaded."""

import numpy as np
import torch
from torch import Tensor

from experiment.device import computes_in_bf16
from experiment.package import Actions, Flags, Images
from impala.config import ImpalaConfig
from nets.actor_critic import ActorCritic, sample_actions
from nets.encoders import make_encoder, parse_widths
from nets.heads import ActorCriticHead
from nets.initialise import initialiser
from nets.net_agent import NetAgent
from nets.noisy import Noises, PlainLinear
from nets.recurrent import RecurrentCore


def make_net(config: ImpalaConfig) -> ActorCritic:
    """An untrained net for that config, its weights drawn from torch's generator."""
    spec = config.env.spec()
    encoder = make_encoder(
        config.encoder,
        spec.observation_shape,
        widths=parse_widths(config.widths),
        pool=config.pool,
    )
    initialise = initialiser(config.initialisation)
    if config.initialisation != "default" or config.encoder in ("nature", "data-efficient"):
        initialise(encoder)
    hidden = PlainLinear(encoder.features, config.hidden)
    initialise(hidden)
    core, features = None, config.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, config.hidden, hidden=config.recurrent_hidden)
        features = core.features
    head = ActorCriticHead(features, actions=spec.actions)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


class ImpalaAgent(NetAgent[ActorCritic, ImpalaConfig]):
    """Acts by the most probable action; exploring, by a draw from the policy."""

    name, config_type = "impala", ImpalaConfig
    same = "encoder, hidden, recurrent, actions, image and stack"
    make_net = staticmethod(make_net)
    logits = True

    def __init__(self, net: ActorCritic, config: ImpalaConfig, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
        self.half = computes_in_bf16(config.precision, self.device)
        self.state = self.no_state(0)

    def autocast(self) -> torch.autocast:
        """The net's precision. Within an outer one, weights are cast once: for many calls."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def no_state(self, rows: int) -> Tensor:
        """What a recurrent net remembers of nothing, [rows,S]; S is 0 without one."""
        core = self.net.core
        return torch.zeros(rows, 0 if core is None else core.state_size, device=self.device)

    def draw_noise(self, rngs: list[np.random.Generator]) -> Noises:
        """None: it has no noisy layers."""
        return None

    @torch.no_grad()
    def evaluate(
        self, images: Tensor, *, state: Tensor, starts: Tensor, noise: Noises = None
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
        logits: Tensor = self.net(images, state=self.no_state(len(images)), starts=starts)[0]
        return logits


build, load = ImpalaAgent.build, ImpalaAgent.load
