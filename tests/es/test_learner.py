import numpy as np
import pytest

from es.config import ESConfig
from es.learner import (
    Learner,
    centred_ranks,
    gradient,
    pair_weights,
    share_beaten,
    share_of,
    sigma_at,
    signs,
    steps_at,
    sum_of_noise,
    z_scores,
)
from es.memory import BLOCK, Noise
from experiment.config import replaced
from experiment.optimiser import optimiser_tensors, restore_optimiser


def test_centred_ranks_are_the_slow_ones():
    returns = np.array([[3.0, 1.0], [2.0, 7.0], [1.0, 5.0]])
    flat = returns.ravel().tolist()
    slow = [
        (sum(o < v for o in flat) + (sum(o == v for o in flat) - 1) / 2) / (len(flat) - 1) - 0.5
        for v in flat
    ]
    np.testing.assert_allclose(centred_ranks(returns).ravel(), slow)
    assert centred_ranks(np.arange(5.0)).tolist() == [-0.5, -0.25, 0.0, 0.25, 0.5]
    assert centred_ranks(np.full((2, 2), 9.0)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert centred_ranks(np.array([4.0])).tolist() == [0.0]


def test_ranks_forget_how_far_apart_returns_are():
    returns = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(centred_ranks(returns), centred_ranks(np.exp(3.0 * returns)))


def test_signs_say_who_is_better_in_a_pair():
    found = signs(np.array([[5.0, 1.0], [0.0, 9.0], [4.0, 4.0]]))
    assert found.tolist() == [[0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]]


def test_z_scores_have_mean_zero_and_deviation_one():
    found = z_scores(np.random.default_rng(0).exponential(900.0, (40, 2)))
    assert abs(found.mean()) < 1e-12 and abs(found.std() - 1.0) < 1e-12
    assert not z_scores(np.full((3, 2), 5.0)).any()


@pytest.mark.parametrize("shaping", ["ranks", "sign", "z-score"])
def test_level_with_high_returns_weighs_as_much_as_another(shaping):
    rng = np.random.default_rng(1)
    returns = rng.random((6, 2, 2))
    scaled = returns * np.array([1000.0, 1.0]) + np.array([5000.0, 0.0])
    np.testing.assert_allclose(
        pair_weights(scaled, shaping), pair_weights(returns, shaping), atol=1e-9
    )
    assert pair_weights(returns, shaping).any()


def test_pair_weights_of_plain_returns_are_mean_differences():
    returns = np.array([[[4.0, 2.0], [1.0, 1.0]], [[0.0, 0.0], [3.0, 1.0]]])
    assert pair_weights(returns, "returns").tolist() == [2.0, -2.0]


@pytest.mark.parametrize("shaping", ["ranks", "sign", "z-score", "returns"])
def test_pair_is_weighed_by_the_levels_that_it_played(shaping):
    returns = np.random.default_rng(2).random((5, 2, 2))
    returns[:2, :, 0] = np.nan  # the first two pairs play the second level, the others the first
    returns[2:, :, 1] = np.nan
    found = pair_weights(returns, shaping)
    for pairs, level in ((slice(2, 5), 0), (slice(0, 2), 1)):
        alone = pair_weights(returns[pairs, :, level : level + 1], shaping)
        np.testing.assert_array_equal(found[pairs], alone)
    assert found.all()


def test_level_of_a_single_pair_says_only_which_member_was_better():
    returns = np.array([[[9.0, np.nan], [1.0, np.nan]], [[np.nan, 2.0], [np.nan, 2.5]]])
    weights = {name: pair_weights(returns, name).tolist() for name in ("ranks", "sign", "z-score")}
    assert weights == {"ranks": [1.0, -1.0], "sign": [1.0, -1.0], "z-score": [2.0, -2.0]}
    assert pair_weights(returns, "returns").tolist() == [8.0, -0.5]


def test_as_many_episodes_of_more_pairs_point_nearer_to_the_gradient():
    rng = np.random.default_rng(0)
    size, levels, episodes = 40, 8, 64
    slopes = 1.0 + 0.5 * rng.normal(size=(levels, size))  # each level's own gradient
    heights = 1_000.0 * rng.random(levels)  # levels differ far more than members do

    def cosine(played):
        """Of the estimate of episodes / (2 played) pairs that play so many levels each."""
        pairs = episodes // (2 * played)
        draws = rng.normal(size=(pairs, size))
        chance = rng.normal(0.0, 8.0, (pairs, 2, levels))
        returns = heights + np.stack([draws, -draws], axis=1) @ slopes.T + chance
        turns = (np.arange(pairs)[:, None] * played + np.arange(played)) % levels
        for pair in range(pairs):
            returns[pair, :, np.setdiff1d(np.arange(levels), turns[pair])] = np.nan
        estimate = pair_weights(returns, "ranks") @ draws
        mean = slopes.mean(axis=0)
        return estimate @ mean / np.linalg.norm(estimate) / np.linalg.norm(mean)

    one, all_levels = (np.mean([cosine(played) for _ in range(200)]) for played in (1, levels))
    assert one > 1.2 * all_levels


@pytest.mark.parametrize("rank", [0, 2])
def test_sum_of_noise_is_the_slow_sum(rank):
    noise = Noise(2, ((300, 250), (5, 300)), rank)
    weights = np.random.default_rng(0).normal(size=70)
    weights[[3, 40]] = 0.0
    fast = sum_of_noise(noise, weights, generation=4, blocks=range(noise.blocks))
    slow = sum(w * noise.whole(4, pair).astype(np.float64) for pair, w in enumerate(weights))
    np.testing.assert_allclose(fast, slow, atol=2e-4)


def test_shares_of_the_weights_put_together_are_the_whole_to_the_last_bit():
    noise = Noise(2, ((300, 900),))
    weights = np.random.default_rng(0).normal(size=5)
    whole = sum_of_noise(noise, weights, generation=0, blocks=range(noise.blocks))
    assert noise.blocks == 17 and len(whole) == 300 * 901 > 16 * BLOCK
    for size in (1, 2, 3, 20):
        shares = [share_of(17, rank=rank, size=size) for rank in range(size)]
        parts = [sum_of_noise(noise, weights, generation=0, blocks=share) for share in shares]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("rank", [0, 1])
def test_estimate_is_the_gradient_of_a_quadratic(rank):
    rng = np.random.default_rng(3)
    noise = Noise(0, ((4, 3), (2, 4)), rank)
    size, sigma, pairs = noise.size, 0.05, 4_000
    theta, best = rng.normal(size=size), rng.normal(size=size)
    curvature = rng.uniform(0.5, 2.0, size)

    def value(points):
        return -0.5 * (curvature * (points - best) ** 2).sum(axis=-1)

    draws = np.stack([noise.whole(0, pair) for pair in range(pairs)])
    returns = np.stack([value(theta + sigma * draws), value(theta - sigma * draws)], axis=1)
    weights = pair_weights(returns[:, :, None], "returns")
    sums = sum_of_noise(noise, weights, generation=0, blocks=range(noise.blocks))
    estimate = gradient(sums, pairs=pairs, sigma=sigma)
    exact = curvature * (best - theta)
    # On a quadratic antithetic pairs are unbiased; the error of a mean of 4,000 is about 0.08 |g|.
    assert np.linalg.norm(estimate - exact) < 0.2 * np.linalg.norm(exact)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("shaping", ["ranks", "sign", "z-score", "returns"])
def test_updates_climb_a_quadratic(shaping, optimiser):
    rate = {"adam": 0.1, "sgd": 0.02}[optimiser]
    config = ESConfig(
        pairs=20, sigma=0.1, learning_rate=rate, optimiser=optimiser, shaping=shaping,
        weight_decay=0.0,
    )  # fmt: skip
    noise = Noise(0, ((3, 2),))
    best = np.linspace(-1.0, 1.0, noise.size)
    learner = Learner(np.zeros(noise.size, np.float32), config, noise=noise)

    def value(theta):
        return -float(((theta - best) ** 2).sum())

    first = value(learner.theta)
    for generation in range(60):
        returns = np.array(
            [
                [[value(learner.theta + s * 0.1 * noise.whole(generation, p))] for s in (1, -1)]
                for p in range(20)
            ]
        )
        metrics = learner.update(returns, generation=generation)
    assert value(learner.theta) > 0.25 * first
    assert metrics["update_norm"] > 0.0 and metrics["sigma"] == 0.1


@pytest.mark.parametrize(("optimiser", "left"), [("sgd", 0.95), ("adam", 0.9)])
def test_weight_decay_pulls_towards_zero_where_returns_say_nothing(optimiser, left):
    config = ESConfig(optimiser=optimiser, momentum=0.0, learning_rate=0.1, weight_decay=0.5)
    noise = Noise(0, ((2, 2),))
    learner = Learner(np.ones(6, np.float32), config, noise=noise)
    learner.update(np.zeros((4, 2, 1)), generation=0)
    np.testing.assert_allclose(learner.theta, left, rtol=1e-6)


def test_divided_update_is_the_whole_one_to_the_last_bit():
    noise = Noise(9, ((300, 700),))
    config = ESConfig(pairs=4)
    returns = np.random.default_rng(0).random((4, 2, 3))
    theta = np.zeros(noise.size, np.float32)
    whole = Learner(theta, config, noise=noise)
    whole.update(returns, generation=1)
    sent = []
    for rank in range(3):
        part = Learner(theta, config, noise=noise)

        def exchange(payload):
            sent.append(payload)
            raise InterruptedError  # the others' shares are not there yet

        with pytest.raises(InterruptedError):
            part.update(returns, generation=1, rank=rank, size=3, exchange=exchange)
    learner = Learner(theta, config, noise=noise)
    learner.update(returns, generation=1, rank=0, size=3, exchange=lambda _: sent)
    np.testing.assert_array_equal(learner.theta, whole.theta)


def test_restored_learner_goes_on_alike():
    noise, config = Noise(9, ((3, 2),)), ESConfig(pairs=3)
    returns = np.random.default_rng(0).random((4, 3, 2, 1))
    whole = Learner(np.zeros(9, np.float32), config, noise=noise)
    for generation in range(4):
        if generation == 2:
            other = Learner(whole.theta, config, noise=noise)
            restore_optimiser(other.optimiser, optimiser_tensors(whole.optimiser))
        whole.update(returns[generation], generation=generation)
        if generation >= 2:
            other.update(returns[generation], generation=generation)
    np.testing.assert_array_equal(other.theta, whole.theta)


def test_sigma_shrinks_to_its_floor():
    config = ESConfig(sigma=0.1, sigma_decay=0.5, sigma_final=0.02)
    assert [sigma_at(config, g) for g in range(4)] == [0.1, 0.05, 0.025, 0.02]


def test_noise_that_shrinks_for_ever_never_vanishes():
    config, noise = ESConfig(sigma_decay=0.5), Noise(0, ((2, 2),))
    learner = Learner(np.ones(6, np.float32), config, noise=noise)
    learner.update(np.random.default_rng(0).random((4, 2, 1)), generation=10_000)
    assert sigma_at(config, 10_000) > 0.0 and np.isfinite(learner.theta).all()


def test_cap_grows_up_to_the_limit_and_never_overflows():
    config = replaced(ESConfig(), start_steps=100, steps_growth=2.0, episode_steps=450)
    assert [steps_at(config, g) for g in (0, 1, 2, 3, 10**6)] == [100, 200, 400, 450, 450]
    assert steps_at(replaced(config, start_steps=0), 0) == 450
    flat = [replaced(config, start_steps=n, steps_growth=1.0) for n in range(1, 450)]
    assert [steps_at(each, 0) for each in flat] == list(range(1, 450))


def test_current_policy_is_ranked_among_the_members():
    members = np.array([[1.0], [2.0], [3.0], [4.0]])
    beaten = [share_beaten(np.array([v]), members) for v in (0.0, 2.0, 3.5, 9.0)]
    assert beaten == [0.0, 0.375, 0.75, 1.0]
    nan = np.nan  # level by level: beaten by both on the first, better than the third on the other
    assert share_beaten(np.array([0.0, 9.0]), np.array([[1, nan], [1, nan], [nan, 5]])) == 1 / 3
