import numpy as np

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


def test_moments_of_parts_add_up_and_scaled_rewards_are_cut_off():
    values = np.random.default_rng(1).normal(size=100)
    together = merged(merged(np.zeros(3), moments_of(values[:30])), moments_of(values[30:]))
    np.testing.assert_allclose(together, [100, values.mean(), 100 * values.var()])
    scale = ReturnScale(1, gamma=0.0)
    rewards = np.zeros((1000, 1))
    rewards[7] = 5.0
    assert scale(rewards, np.zeros((1000, 1), bool), Group()).max() == 10.0
