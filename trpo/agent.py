"""The acting side of TRPO: pick actions, be saved, be loaded."""

import torch
from torch import Tensor, nn

from retro_agents.ground.device import memory_for
from retro_agents.nets.actor_critic import make_trunk
from retro_agents.nets.encoders import Encoder
from retro_agents.nets.initialise import POLICY_GAIN, VALUE_GAIN, orthogonal, xavier
from retro_agents.nets.net_agent import PolicyAgent
from trpo.config import TRPOConfig


class TRPONet(nn.Module):
    """uint8 images [B,C,H,W] -> logits [B,A], values [B]: two nets, or one with two outputs."""

    def __init__(
        self,
        encoder: Encoder,
        hidden: nn.Linear,
        *,
        actions: int,
        critic: tuple[Encoder, nn.Linear] | None,
    ) -> None:
        """critic: the value net's own convolutions and fully connected layer; None: the policy's
        are used."""
        super().__init__()
        self.encoder, self.hidden = encoder, hidden
        self.policy = nn.Linear(hidden.out_features, actions)
        self.value = nn.Linear(hidden.out_features, 1)
        orthogonal(self.policy, gain=POLICY_GAIN)
        orthogonal(self.value, gain=VALUE_GAIN)
        self.value_encoder: Encoder | None
        self.value_hidden: nn.Linear | None
        self.value_encoder, self.value_hidden = critic or (None, None)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """-> (logits, values)."""
        features = torch.relu(self.hidden(self.encoder(obs)))
        return self.policy(features), self.values(obs, features=features)

    def logits(self, obs: Tensor) -> Tensor:
        """The policy's alone, [B,A]."""
        return self.policy(torch.relu(self.hidden(self.encoder(obs))))

    def values(self, obs: Tensor, *, features: Tensor | None = None) -> Tensor:
        """Values [B] alone. features [B,F]: of the policy, for a critic without its own."""
        if self.value_encoder is not None and self.value_hidden is not None:
            features = torch.relu(self.value_hidden(self.value_encoder(obs)))
        return self.value(features).squeeze(1)

    def value_parameters(self) -> list[nn.Parameter]:
        """The parameters of a separate value net; none if there is none (an untrained critic)."""
        if self.value_encoder is None or self.value_hidden is None:
            return []
        parts = self.value_encoder, self.value_hidden, self.value
        return [parameter for part in parts for parameter in part.parameters()]


class LogPolicy(nn.Sequential):
    """uint8 images [B,C,H,W] -> log-probabilities [B,A]: the part of a net whose parameters are the
    policy's."""

    def __init__(self, net: TRPONet) -> None:
        super().__init__(net.encoder, net.hidden, nn.ReLU(), net.policy, nn.LogSoftmax(dim=1))


@memory_for("such a net", instead="give smaller --hidden or --widths")
def make_net(config: TRPOConfig) -> TRPONet:
    """An untrained net for that config, its weights drawn from torch's generator."""
    encoder, hidden = make_trunk(config)
    critic = make_trunk(config) if config.critic == "apart" else None
    net = TRPONet(encoder, hidden, actions=config.env.spec().actions, critic=critic)
    if config.initialisation == "xavier-all":
        xavier(net.policy)
        xavier(net.value)
    return net


class TRPOAgent(PolicyAgent[TRPONet, TRPOConfig]):
    """Acts by draws from its policy, unless its config or `play` says otherwise; always in fp32: in
    bf16 a KL divergence of a hundredth is rounding error."""

    name, config_type = "trpo", TRPOConfig
    make_net = staticmethod(make_net)

    def no_state(self, rows: int) -> Tensor:
        """The empty state of a net without recurrence, [rows,0]."""
        return torch.zeros(rows, 0, device=self.device)

    @torch.no_grad()
    def evaluate(
        self, images: Tensor, *, state: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Images [N,C,H,W] on the device -> log-probabilities [N,A], values [N], the state."""
        logits, values = self.net(images)
        return logits.log_softmax(dim=1), values, state

    def outputs(self, images: Tensor) -> dict[str, Tensor]:
        """As NetAgent's, with the critic's value."""
        logits, value = self.net(images)
        return {"logits": logits, "value": value}

    def scores(self, images: Tensor) -> Tensor:
        """Logits [B,A] of images uint8 [B,C,H,W], with gradient."""
        return self.net.logits(images)


build, load = TRPOAgent.build, TRPOAgent.load
