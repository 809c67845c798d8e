"""Rainbow's mathematics: pure functions, then one update of the nets.

Letters: B batch, A actions, K atoms, N quantiles. z is the support [K] of the return distribution,
None where values or quantiles are learned.
"""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rainbow.config import RainbowConfig
from retro_agents.experience.replay import Batch
from retro_agents.ground.device import computes_in_bf16
from retro_agents.nets.blocks import (
    BatchNorm,
    FrameAttention,
    GroupNorm,
    SpectralConv,
    StandardisedConv,
)
from retro_agents.nets.encoders import Encoder
from retro_agents.nets.heads import QHead
from retro_agents.nets.noisy import Noise
from retro_agents.nets.pixels import PixelConv
from retro_agents.run.optimiser import Adam


def project_distribution(probs: Tensor, returns: Tensor, discounts: Tensor, z: Tensor) -> Tensor:
    """The distribution of returns + discounts · Z, projected on the support. probs [B,K], returns
    and discounts [B] -> [B,K].

    Each atom z_i gets the share max(0, 1 − |clip(Tz_j) − z_i| / Δz) of p_j, which is the paper's
    projection written without a scatter. Source: Bellemare et al., arXiv:1707.06887, eq. 7.
    """
    spacing = (z[-1] - z[0]) / (len(z) - 1)
    moved = (returns[:, None] + discounts[:, None] * z).clamp(z[0], z[-1])  # [B,K]
    share = (1.0 - (moved[:, None, :] - z[None, :, None]).abs() / spacing).clamp(min=0.0)
    return (share * probs[:, None, :]).sum(dim=2)  # a matrix product would use TF32 on a GPU


def clipped_share(probs: Tensor, returns: Tensor, discounts: Tensor, z: Tensor) -> Tensor:
    """The probability that `project_distribution` moves onto the ends of the support, because
    returns + discounts · Z lies outside. The same arguments -> [B]."""
    moved = returns[:, None] + discounts[:, None] * z
    return (probs * ((moved < z[0]) | (moved > z[-1]))).sum(dim=1)


def q_values(outputs: Tensor, z: Tensor | None) -> Tensor:
    """Expected returns; without atoms, the outputs' mean. Head outputs [B,A,K] -> [B,A]."""
    return outputs.mean(dim=2) if z is None else (outputs.softmax(dim=2) * z).sum(dim=2)


def choose(outputs: Tensor, actions: Tensor) -> Tensor:
    """The row of each chosen action. [B,A,K], [B] -> [B,K]."""
    return outputs[torch.arange(len(actions), device=actions.device), actions]


def distributional_loss(
    outputs: Tensor, next_probs: Tensor, returns: Tensor, discounts: Tensor, z: Tensor
) -> Tensor:
    """KL divergence of the predicted distribution from the target one. outputs [B,K]: logits of the
    taken action; next_probs [B,K]: probabilities of the next one -> [B].

    Its gradient is that of the cross entropy; as a priority it lacks the target's entropy, which no
    learning reduces. Source: Hessel et al., arXiv:1710.02298, "Prioritized replay".
    """
    target = project_distribution(next_probs, returns, discounts, z)
    return (torch.xlogy(target, target) - target * outputs.log_softmax(dim=1)).sum(dim=1)


def value_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Huber loss of the temporal difference. outputs, targets [B,1] -> [B]."""
    return nn.functional.smooth_l1_loss(outputs, targets, reduction="none")[:, 0]


def quantile_loss(outputs: Tensor, fractions: Tensor, targets: Tensor) -> Tensor:
    """Σ_i E_j |τ_i − 1{δ_ij < 0}| Huber(δ_ij), δ_ij = target_j − output_i. outputs [B,N]: quantiles
    at fractions τ [B,N]; targets [B,M]: samples of the return -> [B].

    Source: Dabney et al., arXiv:1806.06923, eq. 3, with κ = 1.
    """
    outputs, targets = torch.broadcast_tensors(outputs[:, :, None], targets[:, None])  # [B,N,M]
    huber = nn.functional.smooth_l1_loss(outputs, targets, reduction="none")
    above = (targets < outputs.detach()).float()
    return ((fractions[:, :, None] - above).abs() * huber).mean(dim=2).sum(dim=1)


def log_policy(values: Tensor, temperature: float) -> Tensor:
    """τ log π for the policy π = softmax(values / τ). [B,A] -> [B,A]."""
    return temperature * (values / temperature).log_softmax(dim=1)


def munchausen_bonus(
    values: Tensor, actions: Tensor, *, share: float, temperature: float
) -> Tensor:
    """α [τ log π(a|s)], clipped at −1, to add to the reward. values [B,A] of s, actions [B] -> [B].

    Source: Vieillard et al., arXiv:2007.14430, eq. 2 and §4.
    """
    return share * choose(log_policy(values, temperature), actions).clamp(-1.0, 0.0)


def soft_outputs(outputs: Tensor, temperature: float) -> Tensor:
    """Σ_a π(a|s) (Z(s,a) − τ log π(a|s)), quantile by quantile. outputs [B,A,N] -> [B,N].

    Source: Vieillard et al., arXiv:2007.14430, eq. 2, and its appendix for quantiles.
    """
    log_pi = log_policy(outputs.mean(dim=2), temperature)[:, :, None]
    return ((log_pi / temperature).exp() * (outputs - log_pi)).sum(dim=1)


def linear(start: float, end: float, *, step: int, steps: int) -> float:
    """Linear from `start` at step 0 to `end` at `steps`, constant after that."""
    return start + (end - start) * min(1.0, step / max(1, steps))


def epsilon_ladder(epsilon: float, num_envs: int, *, exponent: float) -> NDArray[np.float32]:
    """ε_i = ε^(1 + i / (N − 1) · exponent) of N environments, so that some explore much, others
    hardly -> [N]. A single one, for which that is undefined, has the mean over the ladder.
    Source: Horgan et al., arXiv:1803.00933, §4.1 (0.4, exponent 7)."""
    rates = epsilon ** (1.0 + exponent * np.linspace(0.0, 1.0, num_envs if num_envs > 1 else 101))
    if num_envs == 1:
        rates = rates.mean(keepdims=True)
    return rates.astype(np.float32)


def support(config: RainbowConfig, device: torch.device) -> Tensor | None:
    """The atoms z [K]; None where values or quantiles are learned."""
    if not config.distributional or config.quantiles:
        return None
    return torch.linspace(config.v_min, config.v_max, config.atoms, device=device)


class RainbowNet(nn.Module):
    """uint8 [B,C,H,W] -> [B,A,K]. Noise and fractions are arguments, see
    `retro_agents.nets.heads.QHead`."""

    def __init__(self, encoder: Encoder, head: QHead) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(
        self,
        obs: Tensor,
        noise: list[Noise | None] | None = None,
        fractions: Tensor | None = None,
    ) -> Tensor:
        return self.head(self.encoder(obs), noise, fractions)

    def draw(self, rows: int, device: torch.device) -> tuple[list[Noise | None], Tensor | None]:
        """Draws noise and fractions for one forward pass."""
        return self.head.sample_noise(None, device), self.head.sample_fractions(rows, device)


@dataclass(frozen=True)
class TensorBatch:
    """A `Batch` on the learner's device."""

    obs: Tensor
    actions: Tensor
    returns: Tensor
    next_obs: Tensor
    discounts: Tensor
    weights: Tensor


COMPUTE_WEIGHTS = (PixelConv, SpectralConv, StandardisedConv, BatchNorm, FrameAttention, GroupNorm)
"""Layers whose weights stay in fp32 in the target net. They transform their weights, or compute in
fp32; from bf16 they would get other results than the online net: x / 255 is then rounded up."""


class Learner:
    """The online net, the target net and Adam. Only `update` and `copy_target` change them."""

    def __init__(self, net: RainbowNet, config: RainbowConfig, *, device: torch.device) -> None:
        self.net, self.config, self.device = net, config, device
        self.target = copy.deepcopy(net).requires_grad_(False)
        self.half = computes_in_bf16(config.computing.precision, device)
        if self.half:  # cast once per copy instead of once per update
            for part in (self.target.encoder, *self.target.head.inner_layers()):
                part.to(torch.bfloat16)
            for layer in self.target.encoder.modules():
                if isinstance(layer, COMPUTE_WEIGHTS):
                    layer.float()
            self.copy_target()
        self.z = support(config, device)
        self.optimiser = Adam(
            net.parameters(), lr=config.learning_rate, eps=config.adam_epsilon, fused=True
        )
        self.augmentation = config.augmentation.make(config.env.spec())
        self._losses = self.losses
        if config.compile:
            mode = "reduce-overhead" if device.type == "cuda" else "default"
            self._losses = torch.compile(self.losses, mode=mode)

    def losses(self, batch: TensorBatch, obs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Losses [B] with gradient, and metrics: the mean value of the taken actions, and the share
        of the targets that the atoms cannot hold. obs: the batch's before any augmentation."""
        config, device, rows = self.config, self.device, len(batch.actions)
        temperature = config.munchausen_temperature
        noise, fractions = self.net.draw(rows, device)
        next_obs = batch.next_obs.contiguous(memory_format=torch.channels_last)  # once for both
        with torch.autocast(device.type, torch.bfloat16, enabled=self.half):
            # The pass with gradient is first: autocast reuses its bf16 weights for the other.
            outputs = self.net(batch.obs, noise, fractions)
            with torch.no_grad():
                next_target = chooser = self.target(next_obs, *self.target.draw(rows, device))
                if config.munchausen:
                    chooser = self.target(obs, *self.target.draw(rows, device))
                elif config.double:
                    chooser = self.net(next_obs, *self.net.draw(rows, device))
        taken, values = choose(outputs, batch.actions), q_values(chooser, self.z)
        returns = batch.returns
        if config.munchausen:
            returns = returns + munchausen_bonus(
                values, batch.actions, share=config.munchausen, temperature=temperature
            )
            following = soft_outputs(next_target, temperature)
        else:
            following = choose(next_target, values.argmax(dim=1))
        metrics = {"q_mean": q_values(taken.detach()[:, None], self.z).mean()}
        if self.z is not None:
            target = following.softmax(dim=1), returns, batch.discounts, self.z
            losses = distributional_loss(taken, *target)
            metrics["clipped"] = clipped_share(*target).mean()
        else:
            targets = returns[:, None] + batch.discounts[:, None] * following
            if fractions is None:
                losses = value_loss(taken, targets)
            else:
                losses = quantile_loss(taken, fractions, targets)
        return losses, metrics

    def update(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """One step of Adam. Returns the unweighted losses [B], which are the new priorities, and
        metrics, as tensors: only reading them waits for the device."""
        on_device = self._on_device(batch)
        losses, values = self._losses(self.augmented(on_device), on_device.obs)
        loss = (losses * on_device.weights).mean()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        # Cloned: a CUDA graph reuses the memory of its outputs.
        metrics = {"loss": loss.detach(), **{name: v.clone() for name, v in values.items()}}
        if self.config.gradient_norm > 0.0:
            metrics["gradient_norm"] = nn.utils.clip_grad_norm_(
                self.net.parameters(), self.config.gradient_norm
            )
        self.optimiser.step()
        return losses.detach(), metrics

    def augmented(self, batch: TensorBatch) -> TensorBatch:
        """The batch with augmented observations; targets are computed from the original ones, as in
        ttumiel/procgen-competition. Differs: drawn anew for each update, instead of once as the
        steps enter the replay."""
        if self.augmentation is None:
            return batch
        u = torch.rand(len(batch.obs), self.augmentation.draws, device=self.device)
        return replace(batch, obs=self.augmentation(batch.obs, u))

    @torch.no_grad()
    def priorities(self, batch: Batch) -> NDArray[np.float32]:
        """The unweighted losses [B] of the present nets, without an update."""
        on_device = self._on_device(batch)
        losses, _ = self.losses(on_device, on_device.obs)
        return losses.cpu().numpy()

    def _on_device(self, batch: Batch) -> TensorBatch:
        names = TensorBatch.__annotations__
        return TensorBatch(**{name: self._move(getattr(batch, name)) for name in names})

    def _move(self, array: NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self.device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    def copy_target(self) -> None:
        """Copy the online net's weights to the target net."""
        self.target.load_state_dict(self.net.state_dict())
