"""IMPALA's mathematics: the losses, and the steps along their gradient.

Letters: T steps, N sequences of a batch, A actions.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from impala.config import ImpalaConfig
from impala.memory import Sequences
from retro_agents.experience.gradients import Gradients, GradientThreads
from retro_agents.experience.vtrace import vtrace
from retro_agents.ground.device import computes_in_bf16
from retro_agents.ground.schedules import scheduled
from retro_agents.nets.actor_critic import ActorCritic, entropies
from retro_agents.run.optimiser import Adam, RMSprop, set_rate


def make_optimiser(config: ImpalaConfig, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Returns the config's optimiser over the net's parameters."""
    rate, epsilon = config.learning_rate, config.optimiser_epsilon
    if config.optimiser == "adam":
        return Adam(parameters, lr=rate, eps=epsilon, fused=True)
    return RMSprop(parameters, lr=rate, alpha=config.rmsprop_decay, eps=epsilon)


class Learner:
    """The net and its optimiser. Only `update` changes them."""

    def __init__(
        self, net: ActorCritic, config: ImpalaConfig, *, device: torch.device, threads: int = 1
    ) -> None:
        """threads: of a CPU, see `GradientThreads`."""
        self.net, self.config, self.device = net, config, device
        self.parameters = list(net.parameters())
        self.augmentation = config.augmentation.make(config.env.spec())
        self.entropy_weight = config.entropy_weight
        self.optimiser = make_optimiser(config, self.parameters)
        self.half = computes_in_bf16(config.computing.precision, device)
        self.threads = GradientThreads(threads if device.type == "cpu" else 1, net)

    def update(self, batch: Sequences, *, part: float) -> dict[str, float]:
        """Learn from a batch. Returns metrics, means over its steps and epochs. part: the completed
        share of the run, 0 to 1."""
        config = self.config
        rate = config.learning_rate * scheduled(config.learning_rate_schedule, part)
        set_rate(self.optimiser, rate)
        self.entropy_weight = config.entropy_weight * scheduled(config.entropy_schedule, part)
        rows = [self._step(batch) for _ in range(config.epochs)]
        means = torch.stack([torch.stack([*row.values()]) for row in rows]).mean(dim=0)
        return {**dict(zip(rows[0], means.tolist(), strict=True)), "learning_rate": rate}

    def _step(self, batch: Sequences) -> dict[str, Tensor]:
        """One step along the gradient of a batch. Returns metrics."""
        count = min(self.config.microbatches * self.threads.count, batch.count)
        ends = np.linspace(0, batch.count, count + 1).astype(int).tolist()
        batch = self.augmented(batch)
        parts = [batch.columns(slice(*ends)) for ends in pairwise(ends)]
        sums = self.threads.backward(self._microbatch, parts, parameters=self.parameters)
        means = {name: value / batch.actions.size for name, value in sums.items()}
        limit = self.config.gradient_norm or torch.inf
        means["gradient_norm"] = nn.utils.clip_grad_norm_(self.parameters, limit)
        self.optimiser.step()
        return means

    def augmented(self, batch: Sequences) -> Sequences:
        """The batch with augmented images, except the last of each sequence: it only gives a
        value."""
        if self.augmentation is None:
            return batch
        obs = torch.from_numpy(batch.obs)
        images = obs[:-1].flatten(0, 1).permute(0, 3, 1, 2)
        images = self.augmentation(images, torch.rand(len(images), self.augmentation.draws))
        changed = images.permute(0, 2, 3, 1).unflatten(0, obs[:-1].shape[:2])
        return replace(batch, obs=torch.cat([changed, obs[-1:]]).numpy())

    def _microbatch(self, part: Sequences) -> Gradients:
        """Gradients and summed metrics of a part of a batch."""
        loss, metrics = self.losses(part)
        gradients = torch.autograd.grad(loss, self.parameters)
        return list(gradients), {name: value.detach() for name, value in metrics.items()}

    def losses(self, batch: Sequences) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss with gradient, and its terms, summed over the steps. Source: Espeholt et al.,
        section 4.2."""
        config = self.config
        steps, count = batch.actions.shape
        actions, old_logp, rewards, terminated, ended = (
            self.tensor(getattr(batch, name))
            for name in ("actions", "logp", "rewards", "terminated", "ended")
        )
        ends: dict[int, Tensor] = {}
        logits, values = self.evaluate(
            batch.obs.reshape(-1, *batch.obs.shape[2:]),
            states=self.tensor(batch.states),
            starts=batch.starts.ravel(),
            steps=steps + 1,
            ends=ends,
        )
        log_probs = logits.log_softmax(dim=1).view(steps + 1, count, -1)[:-1]
        values = values.view(steps + 1, count)
        logp = log_probs.gather(2, actions[..., None]).squeeze(2)
        with torch.no_grad():
            log_ratios = logp - old_logp
            targets, advantages = vtrace(
                log_ratios,
                rewards,
                values[:-1],
                self.next_values(batch, values, ends),
                terminated,
                ended,
                gamma=config.gamma,
                rho_bar=config.rho_bar,
                c_bar=config.c_bar,
            )
        policy_loss = (-advantages * logp).sum()
        value_loss = (0.5 * (targets - values[:-1]).square()).sum()
        entropy = entropies(log_probs).sum()
        loss = policy_loss + config.value_weight * value_loss - self.entropy_weight * entropy
        ratios = log_ratios.exp()
        metrics = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": (ratios - 1.0 - log_ratios).sum(),
            "clipped": (ratios > config.rho_bar).sum(),
        }
        return loss, metrics

    @torch.no_grad()
    def next_values(self, batch: Sequences, values: Tensor, ends: dict[int, Tensor]) -> Tensor:
        """Values [T,N] of the states that the steps reached, before any reset; meaningless where
        terminated. values [T+1,N]: of the observations; ends: recurrent states, see
        `RecurrentCore.forward`."""
        reached = values[1:].clone()
        if len(batch.cut_at):
            steps, columns = self.tensor(batch.cut_at).unbind(dim=1)
            states = values.new_zeros(len(steps), 0)
            if ends:
                states = torch.stack([ends[t + 1][n] for t, n in batch.cut_at.tolist()])
            none_starts = np.zeros(len(steps), bool)
            _, cut = self.evaluate(batch.cut_obs, states=states, starts=none_starts, steps=1)
            reached[steps, columns] = cut
        return reached

    def evaluate(
        self,
        obs: np.ndarray,
        *,
        states: Tensor,
        starts: np.ndarray,
        steps: int,
        ends: dict[int, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Evaluates images [B,H,W,C], `steps` steps of B/steps sequences, step by step. Returns
        logits and values. ends: see `next_values`."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            logits, values, _ = self.net(
                self.tensor(obs).permute(0, 3, 1, 2),
                state=states,
                starts=self.tensor(starts),
                steps=steps,
                ends=ends,
            )
        return logits, values

    def tensor(self, array: np.ndarray) -> Tensor:
        """Moves an array to the device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
