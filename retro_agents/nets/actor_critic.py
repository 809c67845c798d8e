"""A policy and a value function in one net."""

from typing import Any

import torch
from torch import Tensor, nn

from retro_agents.contract.policy import Play, parse_play
from retro_agents.ground.device import memory_for
from retro_agents.nets.encoders import Encoder, encoder_of
from retro_agents.nets.heads import ActorCriticHead, in_fp32
from retro_agents.nets.initialise import initialiser, xavier
from retro_agents.nets.recurrent import RecurrentCore
from retro_agents.nets.settings import NetSettings

ORTHOGONAL = ("nature", "data-efficient", "xresnet")
"""Encoders whose initial weights are orthogonal by default; the others set their own."""


class ActorCritic(nn.Module):
    """uint8 images [B,C,H,W] -> logits [B,A], values [B].

    With a recurrent core, the rows are `steps` steps of B/steps environments, step by step.
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        hidden: nn.Module,
        core: RecurrentCore | None,
        head: ActorCriticHead,
    ) -> None:
        super().__init__()
        self.encoder, self.hidden, self.core, self.head = encoder, hidden, core, head

    def forward(
        self,
        obs: Tensor,
        *,
        state: Tensor,
        starts: Tensor,
        steps: int = 1,
        kept: Tensor | None = None,
        ends: dict[int, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """state [N,S] before the first step; starts bool [B]: rows that begin an episode. kept
        [B,hidden]: factors on the fully connected layer's units (dropout). ends: as for the core.
        Returns (logits, values, state after the last step)."""
        features = torch.relu(self.hidden(self.encoder(obs)))
        if kept is not None:
            features = features * kept
        if self.core is not None:
            sequence = features.view(steps, -1, features.shape[1])
            out, state = self.core(sequence, state, starts.view(steps, -1), ends=ends)
            features = out.flatten(0, 1)
        logits, values = in_fp32(self.head, features)
        return logits, values.squeeze(1), state


def make_trunk(
    net: NetSettings,
    image: tuple[int, int, int],
    *,
    initialisation: str,
) -> tuple[Encoder, Any]:
    """Untrained convolutions and the fully connected layer after them, for images [C,H,W].

    initialisation: as in `initialiser`; "default" is orthogonal for the encoders in ORTHOGONAL.
    """
    encoder, initialise = encoder_of(net, image), initialiser(initialisation)
    if initialisation != "default" or net.encoder in ORTHOGONAL:
        initialise(encoder)
    hidden = nn.Linear(encoder.features, net.hidden)
    initialise(hidden)
    return encoder, hidden


@memory_for("such a net", instead="give smaller --hidden or --widths")
def make_actor_critic(config: Any) -> ActorCritic:
    """An untrained net for PPO2's or IMPALA's config; torch's generator draws its weights.

    Except with xavier-all, the heads are orthogonal as in openai/baselines, ppo2, and the policy is
    nearly uniform.
    """
    spec = config.env.spec()
    image, initialisation = spec.observation_shape, config.initialisation
    encoder, hidden = make_trunk(config.net, image, initialisation=initialisation)
    core, features = None, config.net.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, features, hidden=config.recurrent_hidden)
        features = core.features
    head = ActorCriticHead(features, actions=spec.actions)
    if initialisation == "xavier-all":
        xavier(head)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


def entropies(log_probs: Tensor) -> Tensor:
    """Entropies, in nats, of distributions given by log-probabilities. [...,A] -> [...]."""
    return -(log_probs.exp() * log_probs).sum(dim=-1)


def choose(scores: Tensor, play: Play) -> Tensor:
    """Chooses an action per row. scores: log-probabilities or values [B,A] -> [B]."""
    kind, amount = parse_play(play)
    if kind == "draw":
        log_probs = scores if amount == 1.0 else (scores / amount).log_softmax(dim=-1)
        return sample_actions(log_probs, torch.rand(len(scores), device=scores.device))
    best = scores.argmax(dim=-1)
    if amount == 0.0:
        return best
    random = torch.rand(len(scores), device=scores.device) < amount
    return torch.where(random, torch.randint_like(best, scores.shape[-1]), best)


def sample_actions(log_probs: Tensor, uniforms: Tensor) -> Tensor:
    """Draws an action per row by inverting the distribution function. log_probs [B,A], uniforms [B]
    in [0,1) -> [B]."""
    below = torch.searchsorted(log_probs.exp().cumsum(dim=-1), uniforms[:, None], right=True)
    return below.squeeze(-1).clamp(max=log_probs.shape[-1] - 1)
