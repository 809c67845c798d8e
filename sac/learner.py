"""SAC's mathematics: pure functions, then one update of the nets.

Letters: B batch, A actions; 2 critics. Sources: Haarnoja et al., arXiv:1812.05905 (SAC with a
learned temperature); Christodoulou, arXiv:1910.07207 (for discrete actions).
"""

import copy
import math
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from retro_agents.experience.replay import Batch
from retro_agents.ground.device import computes_in_bf16
from retro_agents.nets.actor_critic import entropies
from retro_agents.nets.encoders import Encoder
from retro_agents.nets.heads import in_fp32
from retro_agents.nets.initialise import POLICY_GAIN, orthogonal
from retro_agents.nets.transfer import follow
from retro_agents.run.optimiser import Adam
from sac.config import SACConfig


def soft_values(logits: Tensor, q_values: Tensor, temperature: Tensor) -> Tensor:
    """V(s) = Σ_a π(a|s) (min_i Q_i(s,a) − α log π(a|s)). logits [B,A], q_values [2,B,A],
    temperature α -> [B]. Source: arXiv:1910.07207, eq. 10."""
    log_pi = logits.log_softmax(dim=1)
    return (log_pi.exp() * (q_values.amin(dim=0) - temperature * log_pi)).sum(dim=1)


def critic_errors(q_values: Tensor, actions: Tensor, targets: Tensor) -> Tensor:
    """Both critics' Q(s,a) − target for the taken actions. q_values [2,B,A], actions and targets
    [B] -> [2,B]."""
    return q_values[:, torch.arange(len(actions), device=actions.device), actions] - targets


def temperature_loss(log_temperature: Tensor, entropy: Tensor, target: float) -> Tensor:
    """Decreases in log α where the policy's entropy [B] is below the target, so that α grows.

    Source: arXiv:1812.05905, eq. 18. Differs: log α stands for α, as in the authors' code.
    """
    return log_temperature * (entropy.mean() - target)


class SACNet(nn.Module):
    """A policy and two critics, each with a hidden layer of its own, on shared convolutions.

    Differs from paper: the convolutions are shared, and learn from the critics alone, as in Yarats
    et al., arXiv:1910.01741. This takes a third of the work, and the policy cannot spoil them.
    """

    def __init__(
        self, encoder: Encoder, *, actions: int, hidden: int, temperature: float = 1.0
    ) -> None:
        super().__init__()

        def head() -> nn.Sequential:
            first, last = nn.Linear(encoder.features, hidden), nn.Linear(hidden, actions)
            return nn.Sequential(first, nn.ReLU(), last)

        self.encoder = encoder
        self.critics: Any = nn.ModuleList([head(), head()])
        self.policy = head()
        orthogonal(self.policy[-1], gain=POLICY_GAIN)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)))

    def q_values(self, features: Tensor) -> Tensor:
        """Both critics' values [2,B,A]."""
        values = [in_fp32(critic[-1], critic[:-1](features)) for critic in self.critics]
        return torch.stack(values)

    def logits(self, features: Tensor) -> Tensor:
        """The policy's logits [B,A]."""
        return in_fp32(self.policy[-1], self.policy[:-1](features))


class Learner:
    """The net, its moving average for targets, and Adam. Only `update` changes them."""

    def __init__(self, net: SACNet, config: SACConfig, *, device: torch.device) -> None:
        self.net, self.config, self.device = net, config, device
        self.target = copy.deepcopy(net).requires_grad_(False)  # its policy is never used
        self.half = computes_in_bf16(config.computing.precision, device)
        self.entropy_target = config.entropy_target * math.log(config.env.spec().actions)
        nets = [*net.encoder.parameters(), *net.critics.parameters(), *net.policy.parameters()]
        groups: list[dict[str, Any]] = [
            {"params": nets},
            {"params": [net.log_temperature], "lr": config.temperature_rate},
        ]
        self.optimiser = Adam(groups, lr=config.learning_rate, eps=config.adam_epsilon, fused=True)

    def outputs(self, obs: Tensor, next_obs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Returns q_values [2,B,A] and logits [B,A] of obs, with gradient, then the target's
        q_values and the policy's logits of next_obs. Images are [B,C,H,W]."""
        next_obs = next_obs.contiguous(memory_format=torch.channels_last)  # once for both
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            features = self.net.encoder(obs)
            q_values = self.net.q_values(features)
            logits = self.net.logits(features.detach())  # the policy cannot spoil the convolutions
            with torch.no_grad():
                next_logits = self.net.logits(self.net.encoder(next_obs))
                next_q_values = self.target.q_values(self.target.encoder(next_obs))
        return q_values, logits, next_q_values, next_logits

    def update(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """One step of Adam on all losses at once. Returns the critics' mean absolute errors [B],
        which are the new priorities, and metrics, as tensors."""
        actions, returns, discounts, weights = (
            self._move(array)
            for array in (batch.actions, batch.returns, batch.discounts, batch.weights)
        )
        q_values, logits, next_q_values, next_logits = self.outputs(
            self._move(batch.obs), self._move(batch.next_obs)
        )
        temperature = self.net.log_temperature.detach().exp()
        targets = returns + discounts * soft_values(next_logits, next_q_values, temperature)
        errors = critic_errors(q_values, actions, targets)
        critic_loss = (weights * 0.5 * errors.square().sum(dim=0)).mean()
        policy_loss = -soft_values(logits, q_values.detach(), temperature).mean()
        entropy = entropies(logits.detach().log_softmax(dim=1))
        loss = critic_loss + policy_loss
        loss = loss + temperature_loss(self.net.log_temperature, entropy, self.entropy_target)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        metrics = {
            "critic_loss": critic_loss.detach(),
            "policy_loss": policy_loss.detach(),
            "q_mean": (errors.detach() + targets).mean(),
            "entropy": entropy.mean(),
            "temperature": temperature,
        }
        if self.config.gradient_norm > 0.0:
            metrics["gradient_norm"] = nn.utils.clip_grad_norm_(
                self.net.parameters(), self.config.gradient_norm
            )
        self.optimiser.step()
        follow(self.target, self.net, rate=self.config.target_rate)
        return errors.detach().abs().mean(dim=0), metrics

    def _move(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)
