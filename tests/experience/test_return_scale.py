import numpy as np

from retro_agents.experience.return_scale import ReturnScale
from retro_agents.run.distributed import Group


def test_rewards_are_divided_by_the_deviation_of_the_discounted_sums():
    rng = np.random.default_rng(0)
    rewards, ended = rng.normal(3.0, 2.0, size=(30, 4)), rng.random((30, 4)) < 0.1
    scale = ReturnScale(4, gamma=0.9)
    parts = [scale(rewards[t : t + 10], ended[t : t + 10], Group()) for t in (0, 10, 20)]
    sums, total = [], np.zeros(4)
    for row, over in zip(rewards, ended, strict=True):
        sums.append(row + 0.9 * total)
        total = sums[-1] * ~over
    for end, part in zip((10, 20, 30), parts, strict=True):
        want = rewards[end - 10 : end] / np.std(sums[:end])
        np.testing.assert_allclose(part, want, rtol=1e-5)


def test_scaled_rewards_are_cut_off():
    scale = ReturnScale(1, gamma=0.0)
    rewards = np.zeros((1000, 1))
    rewards[7] = 5.0
    assert scale(rewards, np.zeros((1000, 1), bool), Group()).max() == 10.0
