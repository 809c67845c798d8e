"""TRPO's mathematics: pure functions, then the learning from one rollout.

Letters: B rows, A actions, P parameters of the policy in one vector. `logp` is the log-probability
of the action taken; that of a batch is under the policy that acted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call

from retro_agents.experience.advantages import normalised
from retro_agents.experience.rollouts import Batch
from retro_agents.nets.actor_critic import entropies
from retro_agents.run.distributed import Group
from retro_agents.run.optimiser import Adam
from trpo.agent import LogPolicy, TRPONet
from trpo.config import TRPOConfig

MICROBATCH = 512
"""Rows from which a gradient or a Fisher-vector product is computed at a time."""
ENOUGH = 1e-10
"""Squared length of the residual at which conjugate gradients stop."""
TRIES, SHRINK = 10, 0.8
"""The line search: number of step lengths to try, and the ratio of each to the one before."""


def kl_divergences(old: Tensor, new: Tensor) -> Tensor:
    """KL(old, new), in nats, of distributions given by log-probabilities. [B,A] -> [B]."""
    return (old.exp() * (old - new)).sum(dim=1)


def conjugate_gradients(
    product: Callable[[Tensor], Tensor], target: Tensor, *, steps: int
) -> Tensor:
    """x [P] with product(x) ≈ target [P]. product: multiplies by a symmetric, positive definite
    matrix.

    Source: Hestenes and Stiefel 1952; Schulman et al., arXiv:1502.05477, appendix C.
    """
    x = torch.zeros_like(target)
    residual, direction = target.clone(), target.clone()
    squares = residual @ residual
    for _ in range(steps):
        if squares < ENOUGH:
            break
        image = product(direction)
        length = squares / (direction @ image)
        x = x + length * direction
        residual = residual - length * image
        before, squares = squares, residual @ residual
        direction = residual + (squares / before) * direction
    return x


def fisher_vector_product(policy: nn.Module, obs: Tensor, vector: Tensor) -> Tensor:
    """F·vector, [P]. F is the Fisher information matrix of the present policy, mean over obs.

    policy: obs -> log-probabilities [B,A]; all its parameters count. F is Jᵀ diag(π / B) J, with J
    the derivatives of the log-probabilities. J·vector is computed in forward mode, Jᵀ in reverse.
    Source: Schraudolph 2002, "Fast curvature matrix-vector products".
    """
    named = dict(policy.named_parameters())
    parts = vector.split([parameter.numel() for parameter in named.values()])
    with forward_ad.dual_level():
        duals = {
            name: forward_ad.make_dual(parameter, part.view(parameter.shape))
            for (name, parameter), part in zip(named.items(), parts, strict=True)
        }
        log_probs, changes = forward_ad.unpack_dual(functional_call(policy, duals, (obs,)))
    pull = (log_probs.exp() * changes).detach() / len(log_probs)
    return flat(torch.autograd.grad(log_probs, list(named.values()), pull))


def line_search(
    judge: Callable[[float], tuple[float, float]], *, max_kl: float
) -> tuple[float, float, float]:
    """Returns (share, improvement, KL) of the first share 1, 0.8, 0.64, … of a step that improves
    the surrogate within the bound on the KL divergence; all are 0.0 if none does.

    judge: share -> (improvement, KL). Source: Schulman et al., arXiv:1502.05477, appendix C.
    """
    for share in (SHRINK**number for number in range(TRIES)):
        improvement, kl = judge(share)
        if improvement > 0.0 and kl <= max_kl:  # both are false for nan
            return share, improvement, kl
    return 0.0, 0.0, 0.0


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates all tensors to one vector [P]."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


@torch.no_grad()
def put(vector: Tensor, parameters: Sequence[Tensor]) -> None:
    """Set the parameters to the values in a vector as `flat` makes it."""
    parts = vector.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.copy_(part.view(parameter.shape))


class Learner:
    """The nets and Adam. Only `update` changes them.

    In a group, each process learns from its own rollouts. They share gradients, products and
    divergences, so that all take the same step as one process would.
    """

    def __init__(
        self, net: TRPONet, config: TRPOConfig, *, device: torch.device, group: Group
    ) -> None:
        self.net, self.config, self.device, self.group = net, config, device, group
        self.log_policy = LogPolicy(net)
        self.policy = list(self.log_policy.parameters())
        penalised = self.policy if config.update == "penalty" else []
        self.nets = penalised, net.value_parameters()
        self.trained = [*self.nets[0], *self.nets[1]]
        self.optimiser = Adam(
            self.trained, lr=config.learning_rate, eps=config.adam_epsilon, fused=True
        )

    def update(
        self, batch: Batch, epochs: Sequence[Sequence[NDArray[np.int64]]]
    ) -> dict[str, float]:
        """Learn from a rollout. Returns metrics. epochs: the rows [1,K] of their minibatches."""
        batch = replace(batch, advantages=normalised(batch.advantages, self.group))
        rows = torch.arange(len(batch.actions), device=self.device)
        with torch.no_grad():
            old = torch.cat([self.log_probs(batch, mb) for mb in rows.split(MICROBATCH)])
        metrics: dict[str, float] = {}
        if self.config.update == "natural":
            metrics = self.natural_step(batch, old)
        sums: dict[str, Tensor] = {}
        indices = [torch.from_numpy(mb[0]) for minibatches in epochs for mb in minibatches]
        for index in indices:
            for name, value in self.adam_step(batch, old, index.to(self.device)).items():
                sums[name] = value + sums.get(name, 0.0)
        means = torch.stack(list(sums.values())) / len(indices)
        numbers = self.mean(means).tolist()
        metrics["entropy"] = float(self.mean(entropies(old).mean()))
        return {**metrics, **dict(zip(sums, numbers, strict=True))}

    def natural_step(self, batch: Batch, old: Tensor) -> dict[str, float]:
        """Move the policy along the natural gradient of the surrogate, as far as the trust region
        and the surrogate allow. Returns metrics. old: log-probabilities [B,A] before.

        Source: Schulman et al., arXiv:1502.05477, eq. 14 and appendix C.
        """
        config = self.config
        rows = torch.arange(len(old), device=self.device)
        some = rows.view(batch.steps, -1)[:: config.fisher_every].flatten()

        def product(vector: Tensor) -> Tensor:
            total = torch.zeros_like(vector)
            for mb in some.split(MICROBATCH):
                image = fisher_vector_product(self.log_policy, images_of(batch, mb), vector)
                total += image * (len(mb) / len(some))
            return self.mean(total) + config.damping * vector

        start = flat(self.policy).detach()
        gradient, before = torch.zeros_like(start), torch.zeros((), device=self.device)
        for mb in rows.split(MICROBATCH):
            surrogate = self.surrogates(batch, mb, self.log_probs(batch, mb)).sum()
            gradient += flat(torch.autograd.grad(surrogate / len(rows), self.policy))
            before += surrogate.detach() / len(rows)
        gradient, worth = self.mean(gradient), float(self.mean(before))
        direction = conjugate_gradients(product, gradient, steps=config.cg_steps)
        curvature = direction @ product(direction)
        step = direction * (2.0 * config.max_kl / curvature.clamp(min=1e-12)).sqrt()

        def judge(share: float) -> tuple[float, float]:
            put(start + share * step, self.policy)
            after, kl = self.surrogate_and_kl(batch, old)
            return after - worth, kl

        share, improvement, kl = line_search(judge, max_kl=config.max_kl)
        if share == 0.0:
            put(start, self.policy)
        length = float(gradient.norm())
        return {"kl": kl, "improvement": improvement, "step_share": share, "gradient_norm": length}

    @torch.no_grad()
    def surrogate_and_kl(self, batch: Batch, old: Tensor) -> tuple[float, float]:
        """Returns the present policy's surrogate and its mean KL divergence from `old`."""
        sums = torch.zeros(2, device=self.device)
        for mb in torch.arange(len(old), device=self.device).split(MICROBATCH):
            new = self.log_probs(batch, mb)
            surrogate = self.surrogates(batch, mb, new).sum()
            sums += torch.stack([surrogate, kl_divergences(old[mb], new).sum()])
        surrogate, kl = (self.mean(sums) / len(old)).tolist()
        return surrogate, kl

    def adam_step(self, batch: Batch, old: Tensor, rows: Tensor) -> dict[str, Tensor]:
        """One step of Adam on a minibatch. Returns means over its rows as metrics. The
        policy's loss is the course's: a penalty on the KL divergence minus the surrogate."""
        config = self.config
        sums: dict[str, Tensor] = {}
        self.optimiser.zero_grad()
        for mb in rows.split(MICROBATCH):
            share, losses = 1.0 / len(rows), []
            parts: dict[str, Tensor] = {}
            if config.update == "penalty":
                new = self.log_probs(batch, mb)
                parts["surrogate"] = self.surrogates(batch, mb, new).sum() * share
                parts["kl"] = kl_divergences(old[mb], new).sum() * share
                losses.append(config.penalty * parts["kl"] - parts["surrogate"])
            if config.critic == "apart":
                values = self.net.values(images_of(batch, mb))
                parts["value_loss"] = 0.5 * (values - batch.returns[mb]).square().sum() * share
                losses.append(parts["value_loss"])
            torch.stack(losses).sum().backward()
            for name, value in parts.items():
                sums[name] = value.detach() + sums.get(name, 0.0)
        self.group.average_gradients(self.trained)
        if config.gradient_norm > 0.0:
            for parameters in self.nets:
                nn.utils.clip_grad_norm_(parameters, config.gradient_norm)
        self.optimiser.step()
        return sums

    def log_probs(self, batch: Batch, rows: Tensor) -> Tensor:
        """Log-probabilities [rows,A] of all actions in these rows of a batch."""
        return self.log_policy(images_of(batch, rows))

    def surrogates(self, batch: Batch, rows: Tensor, log_probs: Tensor) -> Tensor:
        """Ratio times advantage, [rows]. Source: Schulman et al., arXiv:1502.05477, eq. 14."""
        logp = log_probs.gather(1, batch.actions[rows, None]).squeeze(1)
        return (logp - batch.logp[rows]).exp() * batch.advantages[rows]

    def mean(self, tensor: Tensor) -> Tensor:
        """The mean over all processes."""
        return self.group.sum(tensor) / self.group.size


def images_of(batch: Batch, rows: Tensor) -> Tensor:
    """The images uint8 [rows,C,H,W] of these rows, laid out channels last."""
    return batch.obs.index_select(0, rows).permute(0, 3, 1, 2)
