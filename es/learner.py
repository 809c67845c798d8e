"""The mathematics of Evolution Strategies: pure functions on top, then one update of the weights.

Letters: P pairs, L levels, D searched weights. ε_i is the noise of pair i, F a return.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from es.config import ESConfig
from es.memory import BLOCK, Noise

Floats = NDArray[np.floating]
Exchange = Callable[[bytes], list[bytes]]
"""Bytes of this process -> the bytes of every process, by rank."""
CHUNK = 64
"""Pairs whose thin matrices are multiplied at a time."""


def centred_ranks(returns: Floats) -> NDArray[np.float64]:
    """Ranks of all entries, from −½ for the lowest to ½ for the highest; the same shape.

    Source: Salimans et al., arXiv:1703.03864. Differs: equal returns share the mean of their ranks,
    so that a tie within a pair weighs nothing.
    """
    if returns.size < 2:
        return np.zeros(returns.shape)
    ordered = np.sort(returns, axis=None)
    below, up_to = (np.searchsorted(ordered, returns, side) for side in ("left", "right"))
    ranks: NDArray[np.float64] = (below + up_to - 1) / 2.0
    return ranks / (returns.size - 1) - 0.5


def signs(returns: Floats) -> NDArray[np.float64]:
    """Pairs [P,2] -> ½ for the better one of each pair, −½ for the other; 0 where equal."""
    better = np.sign(returns[:, 0] - returns[:, 1]) / 2.0
    return np.stack([better, -better], axis=1).astype(np.float64)


def z_scores(returns: Floats) -> NDArray[np.float64]:
    """(F − mean) / standard deviation over all entries; zeros where all are equal."""
    wide = returns.astype(np.float64)
    spread = wide.std()
    if spread == 0.0:
        return np.zeros(returns.shape)
    scores: NDArray[np.float64] = (wide - wide.mean()) / spread
    return scores


SHAPINGS: dict[str, Callable[[Floats], NDArray[np.float64]]] = {
    "ranks": centred_ranks,
    "sign": signs,
    "z-score": z_scores,
    "returns": lambda returns: returns.astype(np.float64),
}


def pair_weights(returns: Floats, shaping: str) -> NDArray[np.float64]:
    """Returns [P,2,L] (noise added, taken off; nan: not played) -> what each pair says of its
    noise, [P]: the difference of its two utilities, mean over the levels that it played.

    Each level is shaped by itself: one with high returns must not drown the others.
    """
    differences = np.full((len(returns), returns.shape[2]), np.nan)
    for level in range(returns.shape[2]):
        pairs = np.flatnonzero(~np.isnan(returns[:, 0, level]))
        utilities = SHAPINGS[shaping](returns[pairs, :, level])
        differences[pairs, level] = utilities[:, 0] - utilities[:, 1]
    weights: NDArray[np.float64] = np.nanmean(differences, axis=1)
    return weights


def sum_of_noise(
    noise: Noise, weights: Floats, *, generation: int, blocks: Sequence[int]
) -> NDArray[np.float32]:
    """Σ_i w_i ε_i over those blocks, in the order of pairs: the same bits wherever it is done."""
    if noise.rank:
        assert list(blocks) == [0]
        return _sum_of_products(noise, weights, generation=generation)
    sums = []
    for number in blocks:
        total = np.zeros(min(BLOCK, noise.size - number * BLOCK), np.float32)
        for pair in np.flatnonzero(weights).tolist():
            total += np.float32(weights[pair]) * noise.block(generation, pair, number)
        sums.append(total)
    return np.concatenate(sums) if sums else np.zeros(0, np.float32)


def _sum_of_products(noise: Noise, weights: Floats, *, generation: int) -> NDArray[np.float32]:
    """Σ_i w_i A_i B_iᵀ / √r: many pairs in one product of matrices."""
    matrices = [torch.zeros(out, inputs) for out, inputs in noise.layers]
    biases = [torch.zeros(out) for out, _ in noise.layers]
    pairs = np.flatnonzero(weights).tolist()
    for begin in range(0, len(pairs), CHUNK):
        chunk = pairs[begin : begin + CHUNK]
        scale = torch.tensor(weights[chunk], dtype=torch.float32)
        drawn = [noise.factors(generation, pair) for pair in chunk]
        for layer, (matrix, bias) in enumerate(zip(matrices, biases, strict=True)):
            # [P,out,r] and [P,in,r] -> [out,P·r] and [P·r,in]
            a = torch.from_numpy(np.stack([one[layer][0] for one in drawn]))
            b = torch.from_numpy(np.stack([one[layer][1] for one in drawn]))
            left = (a * scale[:, None, None]).permute(1, 0, 2).flatten(1)
            matrix += left @ b.permute(0, 2, 1).flatten(0, 1)
            bias += scale @ torch.from_numpy(np.stack([one[layer][2] for one in drawn]))
    root = float(np.sqrt(noise.rank))
    parts = [t for m, b in zip(matrices, biases, strict=True) for t in ((m / root).flatten(), b)]
    return torch.cat(parts).numpy()


def gradient(sums: NDArray[np.float32], *, pairs: int, sigma: float) -> NDArray[np.float32]:
    """Σ_i (u_i⁺ − u_i⁻) ε_i, [D] -> the estimate of the gradient of the mean utility, [D].

    Source: Salimans et al., arXiv:1703.03864, algorithm 1, with antithetic pairs.
    """
    return sums / np.float32(2.0 * pairs * sigma)


def share_of(blocks: int, *, rank: int, size: int) -> range:
    """The blocks that a process sums: as even as can be, in the order of ranks."""
    return range(rank * blocks // size, (rank + 1) * blocks // size)


def sigma_at(config: ESConfig, generation: int) -> float:
    """Standard deviation of the noise of a generation."""
    return max(config.sigma_final, config.sigma * config.sigma_decay**generation)


def steps_at(config: ESConfig, generation: int) -> int:
    """Cap of an episode's agent steps in a generation; 0: none."""
    longest: int = getattr(config.env, "episode_steps", 0)  # of a family that has it
    if config.start_steps == 0:
        return longest
    # Compared as logarithms: after thousands of generations the power would overflow.
    limit = longest or 2**31
    grown = np.log(config.start_steps) + generation * np.log(config.steps_growth)
    return limit if grown >= np.log(limit) else int(np.exp(grown) + 1e-6)  # 150, not 149.999…


def share_beaten(current: Floats, members: Floats) -> float:
    """Part of the members [M,L] that the current policy [L] is better than, level by level (nan:
    not played); half of its equals count."""
    played = ~np.isnan(members)
    beaten = (members < current) + 0.5 * (members == current)
    return float(beaten[played].mean())


class Learner:
    """The searched weights θ [D] and their optimiser. `update` is all that changes them."""

    def __init__(self, theta: NDArray[np.float32], config: ESConfig, *, noise: Noise) -> None:
        assert theta.shape == (noise.size,), f"{theta.shape} weights, noise for {noise.size}"
        self.config, self.noise = config, noise
        self.parameter = torch.nn.Parameter(torch.from_numpy(theta.copy()))
        kind: Any = torch.optim.SGD
        rest: dict[str, Any] = {"momentum": config.momentum}
        if config.optimiser == "adam":
            kind, rest = torch.optim.Adam, {"betas": (config.momentum, 0.999)}
        rest |= {"lr": config.learning_rate, "weight_decay": config.weight_decay}
        self.optimiser: torch.optim.Optimizer = kind([self.parameter], maximize=True, **rest)

    @property
    def theta(self) -> NDArray[np.float32]:
        """The weights now, [D]; a view."""
        weights: NDArray[np.float32] = self.parameter.detach().numpy()
        return weights

    def update(
        self,
        returns: Floats,
        *,
        generation: int,
        rank: int = 0,
        size: int = 1,
        exchange: Exchange | None = None,
    ) -> dict[str, float]:
        """Returns [P,2,L] of a generation -> one step of the optimiser, and its metrics.

        Every process calls it and ends with the same weights. exchange: where given, process `rank`
        of `size` sums the noise of a share of the weights, and gets the rest from the others.
        """
        config, noise = self.config, self.noise
        sigma = sigma_at(config, generation)
        weights = pair_weights(returns, config.shaping)
        if exchange is None or noise.blocks == 1:
            sums = sum_of_noise(noise, weights, generation=generation, blocks=range(noise.blocks))
        else:
            mine = share_of(noise.blocks, rank=rank, size=size)
            part = sum_of_noise(noise, weights, generation=generation, blocks=mine)
            sums = np.frombuffer(b"".join(exchange(part.tobytes())), np.float32)
        estimate = gradient(sums, pairs=len(weights), sigma=sigma)
        before = self.parameter.detach().clone()
        self.parameter.grad = torch.from_numpy(estimate)
        self.optimiser.step()
        return {
            "gradient_norm": float(np.linalg.norm(estimate)),
            "update_norm": float((self.parameter.detach() - before).norm()),
            "weight_norm": float(self.parameter.detach().norm()),
            "sigma": sigma,
        }
