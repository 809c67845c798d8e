"""The mathematics of Evolution Strategies: pure functions, then one update of the weights.

Letters: P pairs, D searched weights. ε_i is the noise of pair i, u a rank.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from es.config import ESConfig
from es.memory import BLOCK, Noise
from es.mpi import World
from retro_agents.run.optimiser import Adam

Floats = NDArray[np.floating]


def centred_ranks(returns: Floats) -> NDArray[np.float64]:
    """Ranks of all entries, from −½ for the lowest to ½ for the highest, in the same shape.

    Source: Salimans et al., arXiv:1703.03864. Differs: equal returns share the mean of their ranks,
    so that a tie within a pair has no weight.
    """
    ordered = np.sort(returns, axis=None)
    below, up_to = (np.searchsorted(ordered, returns, side) for side in ("left", "right"))
    ranks: NDArray[np.float64] = (below + up_to - 1) / 2.0
    return ranks / (returns.size - 1) - 0.5


def pair_weights(returns: Floats, levels: NDArray[np.integer]) -> NDArray[np.float64]:
    """Weights of the pairs' noise: the differences of their two ranks. returns [P,2] (noise added,
    subtracted), levels [P] of the pairs -> [P].

    Each level is ranked separately, so that a level with high returns does not dominate.
    """
    weights = np.empty(len(returns))
    for level in np.unique(levels):
        pairs = np.flatnonzero(levels == level)
        ranks = centred_ranks(returns[pairs])
        weights[pairs] = ranks[:, 0] - ranks[:, 1]
    return weights


def sum_of_noise(
    noise: Noise, weights: Floats, *, generation: int, blocks: Sequence[int]
) -> NDArray[np.float32]:
    """Σ_i w_i ε_i over these blocks, in the order of pairs: bit-identical in every process."""
    sums = [np.zeros(0, np.float32)]
    for number in blocks:
        total = np.zeros(min(BLOCK, noise.size - number * BLOCK), np.float32)
        for pair in np.flatnonzero(weights).tolist():
            total += np.float32(weights[pair]) * noise.block(generation, pair, number)
        sums.append(total)
    return np.concatenate(sums)


def gradient(sums: NDArray[np.float32], *, pairs: int, sigma: float) -> NDArray[np.float32]:
    """Estimate of the gradient of the mean utility. sums: Σ_i (u_i⁺ − u_i⁻) ε_i, [D] -> [D].

    Source: Salimans et al., arXiv:1703.03864, algorithm 1, with antithetic pairs.
    """
    return sums / np.float32(2.0 * pairs * sigma)


def share_of(blocks: int, *, rank: int, size: int) -> range:
    """The blocks that a process sums: nearly equal shares, in the order of ranks."""
    return range(rank * blocks // size, (rank + 1) * blocks // size)


class Learner:
    """The searched weights θ [D] and Adam's state. Only `update` changes them."""

    def __init__(self, theta: NDArray[np.float32], config: ESConfig, *, noise: Noise) -> None:
        assert theta.shape == (noise.size,), f"{theta.shape} weights, noise for {noise.size}"
        self.config, self.noise = config, noise
        self.parameter = torch.nn.Parameter(torch.from_numpy(theta.copy()))
        self.optimiser = Adam(
            [self.parameter],
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            maximize=True,
        )

    @property
    def theta(self) -> NDArray[np.float32]:
        """A view of the current weights [D]."""
        return self.parameter.detach().numpy()

    def update(
        self,
        returns: Floats,
        levels: NDArray[np.integer],
        *,
        generation: int,
        world: World,
    ) -> dict[str, float]:
        """One step of Adam; none if both members of each pair earned the same. Returns its metrics.
        returns [P,2] of a generation's pairs, levels [P] of the pairs.

        Every process of the world calls this. Each sums the noise of its share of the weights,
        receives the other shares, and ends with the same weights.
        """
        weights = pair_weights(returns, levels)
        if not weights.any():  # Differs: no step of weight decay and momentum alone
            norm = float(np.linalg.norm(self.theta))
            return {"gradient_norm": 0.0, "update_norm": 0.0, "weight_norm": norm}
        mine = share_of(self.noise.blocks, rank=world.rank, size=world.size)
        part = sum_of_noise(self.noise, weights, generation=generation, blocks=mine)
        sums = np.frombuffer(b"".join(world.exchange(part.tobytes())), np.float32)
        estimate = gradient(sums, pairs=len(weights), sigma=self.config.sigma)
        before = self.parameter.detach().clone()
        self.parameter.grad = torch.from_numpy(estimate)
        self.optimiser.step()
        return {
            "gradient_norm": float(np.linalg.norm(estimate)),
            "update_norm": float((self.parameter.detach() - before).norm()),
            "weight_norm": float(self.parameter.detach().norm()),
        }
