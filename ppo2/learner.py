"""PPO's mathematics: pure functions, then the learning from one rollout.

Letters: B rows of a minibatch, A actions. `logp` is the log-probability of the action taken,
`log_ratio` its difference from that under the policy that acted.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ppo2.config import PPO2Config
from ppo2.imitation import self_imitation
from retro_agents.experience.advantages import normalised
from retro_agents.experience.gradients import Gradients, GradientThreads
from retro_agents.experience.replay import Batch as Remembered
from retro_agents.experience.rollouts import Batch
from retro_agents.ground.device import computes_in_bf16
from retro_agents.ground.graphs import Graphed
from retro_agents.ground.schedules import scheduled
from retro_agents.nets.actor_critic import ActorCritic, entropies
from retro_agents.run.distributed import Group
from retro_agents.run.optimiser import Adam, set_rate


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, *, clip: Tensor) -> Tensor:
    """Policy loss, [B], [B] -> [B]. Source: Schulman et al., arXiv:1707.06347, eq. 7."""
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    return -torch.minimum(ratio * advantages, clipped * advantages)


def value_losses(
    values: Tensor, old_values: Tensor, returns: Tensor, *, clip: Tensor | None
) -> Tensor:
    """Half the squared error, [B] or [B,V] -> the same. With a clip, the larger of the errors of
    the value and of the value clipped to within `clip` of the old one. Source: openai/baselines,
    ppo2."""
    losses = (values - returns).square()
    if clip is not None:
        moved = old_values + (values - old_values).clamp(-clip, clip)
        losses = torch.maximum(losses, (moved - returns).square())
    return 0.5 * losses


def approximate_kl(log_ratio: Tensor) -> Tensor:
    """KL(old, new) from samples of old, [B] -> []: mean of r − 1 − log r, never negative."""
    return (log_ratio.exp() - 1.0 - log_ratio).mean()


CACHED_ROWS = 128
"""Rows of a microbatch that stays in a CPU's cache: with the IMPALA encoder it takes 30 % less time
per row than one of 1,024."""
LEAST_WEIGHT = 1e-30
"""Least weight of a KL penalty: it changes by factors, so 0 would stay 0."""


def adapted(weight: float, kl: float, *, aim: float) -> float:
    """The new weight of a KL penalty after a rollout that moved the policy by `kl`.

    Source: RLlib 0.8, PPO, update_kl. Differs: Schulman et al., arXiv:1707.06347, section 4, double
    and halve it outside of 1.5 times the aim.
    """
    if kl > 2.0 * aim:
        return 1.5 * weight
    return max(0.5 * weight, LEAST_WEIGHT) if kl < 0.5 * aim else weight


class Learner:
    """The net and Adam. Only `update` changes them.

    In a group, each process learns from the rollouts of its own environments. They share gradients
    and the moments of advantages, so that all take the same step as one process would.
    """

    def __init__(
        self,
        net: ActorCritic,
        config: PPO2Config,
        *,
        device: torch.device,
        group: Group,
        threads: int = 1,
    ) -> None:
        """threads: of a CPU, see `GradientThreads`."""
        self.net, self.config, self.device, self.group = net, config, device, group
        self.parameters = list(net.parameters())
        on_gpu = device.type == "cuda"
        rate = config.learning_rate
        self.optimiser = Adam(
            self.parameters,
            lr=torch.tensor(rate, device=device) if on_gpu else rate,  # a graph can read a tensor
            eps=config.adam_epsilon,
            fused=True,
            capturable=on_gpu,
        )
        layers = net.encoder.modules()
        self.kernels = [layer.weight for layer in layers if isinstance(layer, nn.Conv2d)]
        self.augmentation = config.augmentation.make(config.env.spec())
        self.clip, self.value_clip = torch.tensor(config.clip, device=device), None
        if config.value_clip:
            reach = config.clip if config.value_clip_range is None else config.value_clip_range
            self.value_clip = torch.tensor(float(reach), device=device)
        self.kl_weight = torch.tensor(config.kl_penalty, device=device)
        self.entropy_weight = torch.tensor(config.entropy_weight, device=device)
        self.half = computes_in_bf16(config.computing.precision, device)
        self._losses = self.losses
        if config.compile:
            self._losses = torch.compile(self.losses)
        # A graph may not wait for the device; random draws, recurrence and other processes do.
        # Self-imitation sets gradients outside of it.
        other = config.dropout or config.noisy or config.self_imitation or group.active
        fixed = not (self.augmentation or other)
        graphs = config.cuda_graphs and fixed and config.recurrent == "none"
        self._take_step = Graphed(self._step_from, device, on=graphs)
        self.batch: Batch | None = None
        """What `_step_from` reads: in the same memory at every update, as a graph needs."""
        self.names: list[str] = []
        """Names of the metrics that `_step_from` returns."""
        alone = device.type != "cpu" or config.compile
        self.threads = GradientThreads(1 if alone else threads, net)
        self.cached_rows = sys.maxsize if alone else CACHED_ROWS

    def update(
        self,
        batch: Batch,
        epochs: Sequence[Sequence[NDArray[np.int64]]],
        *,
        part: float,
        chance: Callable[[int], Tensor] | None = None,
    ) -> dict[str, float]:
        """Learn from a rollout. Returns metrics, means over minibatches.

        epochs: the rows [L,K] of each one's minibatches. part: the completed share of the run, 0 to
        1. chance: draws U numbers from 0 to 1 for each row of the batch, [T·N,U], for dropout and
        augmentation.
        """
        config = self.config
        rate = config.learning_rate * scheduled(config.learning_rate_schedule, part)
        set_rate(self.optimiser, rate)
        self.entropy_weight.fill_(config.entropy_weight * scheduled(config.entropy_schedule, part))
        if config.normalise == "rollout":
            batch = replace(batch, advantages=normalised(batch.advantages, self.group))
        rows: list[dict[str, Tensor]] = []
        dropped = config.net.hidden if config.dropout > 0.0 else 0
        drawn = dropped + (self.augmentation.draws if self.augmentation else 0)
        for minibatches in epochs:
            if drawn:
                assert chance is not None, "dropout and augmentation need chance"
                batch = replace(batch, chance=chance(drawn))
            self._hold(batch)
            for indices in minibatches:
                on_device = torch.from_numpy(indices).to(self.device, non_blocking=True)
                (metrics,) = self._take_step(on_device)
                rows.append(dict(zip(self.names, metrics.clone().unbind(), strict=True)))
        return self._summary(rows, rate=rate)

    def imitate(self, batch: Remembered, returns: NDArray[np.float32]) -> NDArray[np.float32]:
        """One step of Adam towards remembered actions. Returns their gains [B]. returns [B]: in
        units of the values."""
        images = torch.from_numpy(batch.obs).contiguous(memory_format=torch.channels_last)
        images, gains = images.to(self.device), torch.zeros(len(returns), device=self.device)
        actions, weights, aims = (
            torch.from_numpy(array).to(self.device)
            for array in (batch.actions, batch.weights, returns)
        )

        def work(rows: slice) -> Gradients:
            count = rows.stop - rows.start
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
                logits, values, _ = self.net(
                    images[rows],
                    state=torch.zeros(count, 0, device=self.device),
                    starts=torch.zeros(count, dtype=torch.bool, device=self.device),
                )
            logp = logits.log_softmax(dim=1).gather(1, actions[rows, None]).squeeze(1)
            losses, gains[rows] = self_imitation(logp, values.view(count, -1)[:, 0], aims[rows])
            loss = self.config.self_imitation * (losses * weights[rows]).sum() / len(returns)
            return list(torch.autograd.grad(loss, self.parameters, materialize_grads=True)), {}

        least = self.threads.count * max(self.config.microbatches, 1)
        parts = min(max(-(-len(returns) // self.cached_rows), least), len(returns))
        ends = np.linspace(0, len(returns), parts + 1).astype(int).tolist()
        rows = [slice(*part) for part in pairwise(ends)]
        self.threads.backward(work, rows, parameters=self.parameters)
        self._step({})
        return gains.cpu().numpy()

    def _hold(self, batch: Batch) -> None:
        """Sets `batch`, in the memory of the first one if a graph reads it."""
        if self.batch is None or not self._take_step.on:
            self.batch = batch
            return
        for name, own in vars(self.batch).items():
            new = getattr(batch, name)
            if isinstance(own, Tensor) and own.data_ptr() != new.data_ptr():
                own.copy_(new)

    def _step_from(self, indices: Tensor) -> tuple[Tensor]:
        """One step of Adam on a minibatch of `batch`. Returns the metrics of `names`."""
        assert self.batch is not None, "`_hold` sets it"
        metrics = self._minibatch(self.batch, indices)
        self._step(metrics)
        self.names = list(metrics)
        return (torch.stack(list(metrics.values())),)

    def _minibatch(self, batch: Batch, indices: Tensor) -> dict[str, Tensor]:
        """Computes the gradients of one minibatch. Returns metrics. indices [L,K]: batch rows."""
        advantages = batch.advantages[indices]
        if self.config.normalise == "minibatch":
            advantages = normalised(advantages, self.group)
        threads, rows = self.threads.count, indices.numel()
        each = self.config.microbatches or -(-rows // (threads * self.cached_rows))
        count = min(each * threads, indices.shape[1])
        microbatches = indices.tensor_split(count, dim=1), advantages.tensor_split(count, dim=1)
        work = partial(self._microbatch, batch, rows=rows)
        return self.threads.backward(work, *microbatches, parameters=self.parameters)

    def _microbatch(
        self, batch: Batch, indices: Tensor, advantages: Tensor, *, rows: int
    ) -> Gradients:
        """A part's share of the gradients and metrics of a minibatch of `rows` rows."""
        share = indices.numel() / rows
        mb = batch.minibatch(indices, advantages)
        if self.augmentation and mb.chance is not None:
            images = mb.obs.permute(0, 3, 1, 2)
            images = self.augmentation(images, mb.chance[:, -self.augmentation.draws :])
            mb = replace(mb, obs=images.permute(0, 2, 3, 1))
        loss, metrics = self._losses(mb)
        gradients = list(torch.autograd.grad(loss * share, self.parameters))
        if self.config.compile:  # a CUDA graph reuses the memory of its outputs
            gradients = [gradient.clone() for gradient in gradients]
        return gradients, {name: value.detach() * share for name, value in metrics.items()}

    def losses(self, mb: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of one part of a minibatch, with gradient, and its terms."""
        config, kept = self.config, None
        if config.dropout > 0.0 and mb.chance is not None:
            kept = (mb.chance[:, : config.net.hidden] >= config.dropout) / (1.0 - config.dropout)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            logits, values, _ = self.net(
                mb.obs.permute(0, 3, 1, 2),
                state=mb.states,
                starts=mb.starts,
                steps=mb.steps,
                kept=kept,
                noise=mb.noise,
            )
        log_probs = logits.log_softmax(dim=1)
        log_ratio = log_probs.gather(1, mb.actions[:, None]).squeeze(1) - mb.logp
        if mb.own is not None:
            log_ratio = log_ratio * mb.own  # constant, so nothing is learned from the others
        policy_loss = clipped_surrogate(log_ratio, mb.advantages, clip=self.clip).mean()
        errors = value_losses(values, mb.values, mb.returns, clip=self.value_clip)
        value_loss = errors.mean(dim=0).sum()
        entropy = entropies(log_probs).mean()
        kl = approximate_kl(log_ratio)
        loss = policy_loss + config.value_weight * value_loss - self.entropy_weight * entropy
        if config.kl_penalty > 0.0:
            loss = loss + self.kl_weight * kl
        with torch.no_grad():
            metrics = {
                "policy_loss": policy_loss,
                "value_loss": value_loss,
                "entropy": entropy,
                "kl": kl,
                "clipped": ((log_ratio.exp() - 1.0).abs() > self.clip).float().mean(),
            }
        return loss, metrics

    def _step(self, metrics: dict[str, Tensor]) -> None:
        """One step of Adam along the group's mean gradient plus that of the L2 penalty."""
        self.group.average_gradients(self.parameters)
        if self.config.convolution_l2 > 0.0:
            for kernel in self.kernels:
                assert kernel.grad is not None
                kernel.grad.add_(kernel.detach(), alpha=2.0 * self.config.convolution_l2)
        if self.config.gradient_norm > 0.0:
            metrics["gradient_norm"] = nn.utils.clip_grad_norm_(
                self.parameters, self.config.gradient_norm
            )
        self.optimiser.step()

    def _summary(self, rows: list[dict[str, Tensor]], *, rate: float) -> dict[str, float]:
        """Means over minibatches and processes; only here does the process wait for the device.
        Sets the KL penalty's next weight by the divergence in the last epoch."""
        names = {name: None for row in rows for name in row}
        means = [torch.stack([row[name] for row in rows if name in row]).mean() for name in names]
        means.append(torch.stack([r["kl"] for r in rows[-self.config.minibatches :]]).mean())
        *numbers, kl = (self.group.sum(torch.stack(means)) / self.group.size).tolist()
        values = {**dict(zip(names, numbers, strict=True)), "learning_rate": rate}
        if self.config.kl_penalty > 0.0:
            values["kl_weight"] = float(self.kl_weight)
            self.kl_weight.fill_(adapted(values["kl_weight"], kl, aim=self.config.kl_aim))
        return values
