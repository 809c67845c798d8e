import numpy as np
import pytest

from retro_agents.experience.return_scale import ReturnScale, merged, moments_of
from retro_agents.run.distributed import Group


def slow_returns(rewards, ended, gamma):
    """Every discounted sum of rewards since its episode began, environment by environment."""
    sums = []
    for n in range(rewards.shape[1]):
        start = 0
        for t in range(len(rewards)):
            steps = range(start, t + 1)
            sums.append(sum(gamma ** (t - k) * rewards[k, n] for k in steps))
            if ended[t, n]:
                start = t + 1
    return np.array(sums)


def test_rewards_are_divided_by_the_deviation_of_the_discounted_sums():
    rng = np.random.default_rng(0)
    rewards, ended = rng.normal(3.0, 2.0, size=(30, 4)), rng.random((30, 4)) < 0.1
    scale = ReturnScale(4, gamma=0.9)
    parts = [scale(rewards[t : t + 10], ended[t : t + 10], Group()) for t in (0, 10, 20)]
    for number, part in enumerate(parts):
        end = 10 * (number + 1)
        deviation = slow_returns(rewards[:end], ended[:end], 0.9).std()
        np.testing.assert_allclose(part, rewards[end - 10 : end] / deviation, rtol=1e-5)


def test_scaled_rewards_are_cut_off():
    scale = ReturnScale(1, gamma=0.0)
    rewards = np.zeros((1000, 1))
    rewards[7] = 5.0
    assert scale(rewards, np.zeros((1000, 1), bool), Group()).max() == 10.0


def test_moments_of_parts_add_up():
    values = np.random.default_rng(1).normal(size=100)
    together = merged(merged(np.zeros(3), moments_of(values[:30])), moments_of(values[30:]))
    np.testing.assert_allclose(together, [100, values.mean(), 100 * values.var()])


def test_moments_are_those_of_stable_baselines3s_normaliser():
    """Steps in a row through both; theirs begins with a count of 1e-4 at variance 1."""
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from stable_baselines3.common.running_mean_std import RunningMeanStd

    rng = np.random.default_rng(0)
    rewards, ended = rng.normal(1.0, 3.0, size=(40, 4)), rng.random((40, 4)) < 0.1
    normaliser = vec_env.VecNormalize.__new__(vec_env.VecNormalize)
    normaliser.gamma, normaliser.returns = 0.99, np.zeros(4)
    normaliser.ret_rms = RunningMeanStd(shape=())
    for reward, done in zip(rewards, ended, strict=True):
        normaliser._update_reward(reward)
        normaliser.returns[done] = 0.0
    scale = ReturnScale(4, gamma=0.99)
    scaled = scale(rewards, ended, Group())
    count, mean, squares = scale.moments
    assert count == pytest.approx(normaliser.ret_rms.count, rel=1e-5)
    assert mean == pytest.approx(normaliser.ret_rms.mean, rel=1e-4)
    assert squares / count == pytest.approx(normaliser.ret_rms.var, rel=1e-4)
    theirs = rewards / np.sqrt(normaliser.ret_rms.var + 1e-8)
    np.testing.assert_allclose(scaled, theirs.clip(-10, 10), rtol=1e-4)
