import numpy as np
import pytest

from es.config import ESConfig
from es.learner import Learner, centred_ranks, gradient, pair_weights, share_of, sum_of_noise
from es.memory import BLOCK, Noise
from es.mpi import World


def test_centred_ranks_are_the_slow_ones_and_forget_how_far_apart_returns_are():
    returns = np.array([[3.0, 1.0], [2.0, 7.0], [1.0, 5.0]])
    flat = returns.ravel().tolist()
    slow = [
        (sum(o < v for o in flat) + (sum(o == v for o in flat) - 1) / 2) / (len(flat) - 1) - 0.5
        for v in flat
    ]
    np.testing.assert_allclose(centred_ranks(returns).ravel(), slow)
    assert centred_ranks(np.arange(5.0)).tolist() == [-0.5, -0.25, 0.0, 0.25, 0.5]
    assert centred_ranks(np.full((2, 2), 9.0)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    returns = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(centred_ranks(returns), centred_ranks(np.exp(3.0 * returns)))


def test_each_level_is_ranked_by_itself_and_a_single_pair_by_its_better_member():
    rng = np.random.default_rng(1)
    returns, levels = rng.random((9, 2)), np.array([0, 4, 0, 4, 4, 0, 0, 4, 4])
    scaled = np.where(levels[:, None] == 4, 1000.0 * returns + 5000.0, returns)
    found = pair_weights(scaled, levels)
    for level in (0, 4):
        alone = returns[levels == level]
        ranks = centred_ranks(alone)
        np.testing.assert_array_equal(found[levels == level], ranks[:, 0] - ranks[:, 1])
    assert found.all()
    returns = np.array([[9.0, 2.0], [1.0, 1.5], [4.0, 4.0]])
    assert pair_weights(returns, np.array([0, 1, 2])).tolist() == [1.0, -1.0, 0.0]


def test_sum_of_noise_is_the_slow_sum_in_any_shares():
    noise = Noise(2, 76_805)
    weights = np.random.default_rng(0).normal(size=70)
    weights[[3, 40]] = 0.0
    fast = sum_of_noise(noise, weights, generation=4, blocks=range(noise.blocks))
    slow = sum(w * noise.whole(4, pair).astype(np.float64) for pair, w in enumerate(weights))
    np.testing.assert_allclose(fast, slow, atol=2e-4)
    noise = Noise(2, 270_300)
    weights = np.random.default_rng(0).normal(size=5)
    whole = sum_of_noise(noise, weights, generation=0, blocks=range(noise.blocks))
    assert noise.blocks == 17 and len(whole) == 270_300 > 16 * BLOCK
    for size in (1, 2, 3, 20):
        shares = [share_of(17, rank=rank, size=size) for rank in range(size)]
        parts = [sum_of_noise(noise, weights, generation=0, blocks=share) for share in shares]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_estimate_is_the_gradient_of_a_quadratic():
    rng = np.random.default_rng(3)
    size, sigma, pairs = 26, 0.05, 4_000
    noise = Noise(0, size)
    theta, best = rng.normal(size=size), rng.normal(size=size)
    curvature = rng.uniform(0.5, 2.0, size)

    def value(points):
        return -0.5 * (curvature * (points - best) ** 2).sum(axis=-1)

    draws = np.stack([noise.whole(0, pair) for pair in range(pairs)])
    weights = value(theta + sigma * draws) - value(theta - sigma * draws)
    sums = sum_of_noise(noise, weights, generation=0, blocks=range(noise.blocks))
    estimate = gradient(sums, pairs=pairs, sigma=sigma)
    exact = curvature * (best - theta)
    # On a quadratic antithetic pairs are unbiased; the error of a mean of 4,000 is about 0.08 |g|.
    assert np.linalg.norm(estimate - exact) < 0.2 * np.linalg.norm(exact)


LEVEL = np.zeros(20, int)
"""The level of up to twenty pairs: the same one."""


def test_weight_decay_pulls_towards_zero():
    config = ESConfig(learning_rate=0.1, weight_decay=0.5, sigma=1e9)  # next to no gradient
    learner = Learner(np.ones(6, np.float32), config, noise=Noise(0, 6))
    learner.update(np.eye(4, 2), LEVEL[:4], generation=0, world=World())
    np.testing.assert_allclose(learner.theta, 0.9, rtol=1e-6)


def test_a_generation_of_ties_changes_nothing():
    """As published, Adam would make a whole step of the decay, and of what is left of momentum."""
    learner = Learner(np.ones(6, np.float32), ESConfig(), noise=Noise(0, 6))
    learner.update(np.eye(4, 2), LEVEL[:4], generation=0, world=World())
    theta, before = learner.theta.copy(), str(learner.optimiser.state_dict())
    found = learner.update(np.ones((4, 2)), LEVEL[:4], generation=1, world=World())
    np.testing.assert_array_equal(learner.theta, theta)
    assert str(learner.optimiser.state_dict()) == before
    assert found["update_norm"] == found["gradient_norm"] == 0.0 < found["weight_norm"]


class Share(World):
    """One of three processes. Without `sums` it raises its own sums; with them it receives them."""

    def __init__(self, rank, sums=None):
        super().__init__()
        self.rank, self.size, self.sums = rank, 3, sums

    def exchange(self, payload):
        if self.sums is None:
            raise InterruptedError(payload)  # the others' shares are not there yet
        assert payload == self.sums[self.rank]
        return self.sums


@pytest.mark.parametrize("size", [210_300, 50])  # the latter is one block
def test_divided_update_is_the_whole_one_to_the_last_bit(size):
    noise, config = Noise(9, size), ESConfig(pairs=4)
    returns = np.random.default_rng(0).random((4, 2))
    theta = np.zeros(size, np.float32)
    whole = Learner(theta, config, noise=noise)
    whole.update(returns, LEVEL[:4], generation=1, world=World())
    assert whole.theta.any()
    sums = []
    for rank in range(3):
        part = Learner(theta, config, noise=noise)
        with pytest.raises(InterruptedError) as sent:
            part.update(returns, LEVEL[:4], generation=1, world=Share(rank))
        sums.append(sent.value.args[0])
    assert max(map(len, sums)) <= 4 * min(size, 5 * BLOCK)
    for rank in range(3):
        learner = Learner(theta, config, noise=noise)
        learner.update(returns, LEVEL[:4], generation=1, world=Share(rank, sums))
        np.testing.assert_array_equal(learner.theta, whole.theta)
