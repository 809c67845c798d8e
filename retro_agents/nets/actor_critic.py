"""A policy and a value function in one net."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from retro_agents.contract.policy import Play, parse_play
from retro_agents.ground.device import memory_for
from retro_agents.nets.encoders import Encoder, encoder_of
from retro_agents.nets.heads import ActorCriticHead, in_fp32
from retro_agents.nets.initialise import initialiser, xavier
from retro_agents.nets.noisy import Noises, signed_root
from retro_agents.nets.recurrent import RecurrentCore

ORTHOGONAL = ("nature", "data-efficient", "xresnet")
"""Encoders whose initial weights are orthogonal by default; the others set their own."""


class ActorCritic(nn.Module):
    """uint8 images [B,C,H,W] -> logits [B,A], values [B], or [B,V] where it has several.

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
        noise: Noises | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """state [N,S] before the first step; starts bool [B]: rows that begin an episode. kept
        [B,hidden]: factors on the fully connected layer's units (dropout). ends: as for the core.
        noise: of the fully connected layer, the policy's and the values', for each row. Returns
        (logits, values, state after the last step)."""
        features = self.encoder(obs)
        features = torch.relu(
            self.hidden(features) if noise is None else self.hidden(features, noise[0])
        )
        if kept is not None:
            features = features * kept
        if self.core is not None:
            sequence = features.view(steps, -1, features.shape[1])
            out, state = self.core(sequence, state, starts.view(steps, -1), ends=ends)
            features = out.flatten(0, 1)
        logits, values = in_fp32(partial(self.head, noise=noise and noise[1:]), features)
        # ONNX has no squeeze of what is not 1.
        return logits, values.squeeze(1) if values.shape[1] == 1 else values, state

    def draw_noise(self, rngs: Sequence[np.random.Generator], device: torch.device) -> Noises:
        """Draws noise for as many rows as there are generators, each row's by its own; for a net
        of noisy layers."""

        def draw(width: int) -> Tensor:
            rows = [rng.standard_normal(width, np.float32) for rng in rngs]
            return signed_root(torch.from_numpy(np.stack(rows))).to(device)

        layers: Any = self.hidden, self.head.policy, self.head.value
        return [(draw(layer.inputs), draw(layer.outputs)) for layer in layers]


def make_trunk(
    config: Any, *, linear: Callable[[int, int], nn.Module] = nn.Linear
) -> tuple[Encoder, Any]:
    """Untrained convolutions and the fully connected layer after them, for an agent's config, whose
    `initialisation` is as in `initialiser`; "default" is orthogonal for the encoders in ORTHOGONAL.
    linear: makes a layer."""
    net, spec, initialise = config.net, config.env.spec(), initialiser(config.initialisation)
    encoder = encoder_of(net, spec.observation_shape, frames=spec.frame_stack)
    if config.initialisation != "default" or net.encoder in ORTHOGONAL:
        initialise(encoder)
    hidden = linear(encoder.features, net.hidden)
    initialise(hidden)
    return encoder, hidden


@memory_for("such a net", instead="give smaller --hidden or --widths")
def make_actor_critic(
    config: Any, *, values: int = 1, linear: Callable[[int, int], nn.Module] = nn.Linear
) -> ActorCritic:
    """An untrained net for PPO2's or IMPALA's config; torch's generator draws its weights.

    values: the number of value functions. linear: makes a layer behind the convolutions.

    Except with xavier-all, the heads are orthogonal as in openai/baselines, ppo2, and the policy is
    nearly uniform.
    """
    encoder, hidden = make_trunk(config, linear=linear)
    core, features = None, config.net.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, features, hidden=config.recurrent_hidden)
        features = core.features
    actions = config.env.spec().actions
    head = ActorCriticHead(features, actions=actions, values=values, linear=linear)
    if config.initialisation == "xavier-all":
        xavier(head)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


def entropies(log_probs: Tensor) -> Tensor:
    """Entropies, in nats, of distributions given by log-probabilities. [...,A] -> [...]."""
    return -(log_probs.exp() * log_probs).sum(dim=-1)


def choose(scores: Tensor, play: Play) -> Tensor:
    """Chooses an action per row. scores: log-probabilities [B,A], or values to choose the best of
    -> [B]."""
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
