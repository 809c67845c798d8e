import numpy as np
import pytest
import torch

from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from retro_agents.run.config import replaced

SMALL = replaced(RainbowConfig(), image_height=36, image_width=36, hidden=32, atoms=11)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "auto"])
def test_on_a_cpu_it_acts_in_fp32_whatever_the_precision(precision):
    """A bf16 learner's weights would be cast for a few observations at every step."""
    config = replaced(SMALL, precision=precision)
    assert not RainbowAgent(make_net(config), config, device="cpu").half


def test_each_environment_has_random_actions_at_its_own_rate():
    torch.manual_seed(0)
    config = replaced(RainbowConfig(), image_height=36, image_width=36, hidden=16, noisy=False)
    agent = RainbowAgent(make_net(config), config)
    obs = np.zeros((3000, 4, 36, 36), np.uint8)
    rates = np.repeat(np.array([0.0, 0.3, 1.0], np.float32), 1000)
    greedy = agent.act(obs)[0]
    others = (agent.act(obs, play="draw", epsilon=rates) != greedy).reshape(3, 1000).mean(axis=1)
    np.testing.assert_allclose(others, np.array([0.0, 0.3, 1.0]) * 6 / 7, atol=0.05)
    assert (agent.act(obs, epsilon=rates) == greedy).all()  # only where it explores


@pytest.mark.parametrize("play", ["draw:1", "draw:2"])
def test_actions_are_drawn_by_the_softmax_of_values_at_any_temperature(play):
    torch.manual_seed(0)
    agent = RainbowAgent(make_net(SMALL), SMALL)
    obs = np.zeros((4000, 4, 36, 36), np.uint8)
    values = agent.scores(torch.from_numpy(obs[:1])).detach()[0] / float(play[-1])
    shares = np.bincount(agent.act(obs, play=play), minlength=len(values)) / len(obs)
    np.testing.assert_allclose(shares, values.softmax(dim=0), atol=0.03)


@pytest.mark.parametrize("rows", [3000, 1])
def test_exploring_without_rates_it_has_the_last_ladder_of_a_run(rows):
    """Told nothing, as by an evaluation: Ape-X's rates over the rows, of one row their mean."""
    torch.manual_seed(0)
    ladder = {"noisy": False, "epsilon_final": 0.4, "epsilon_ladder": 7.0}
    config = replaced(SMALL, **ladder)
    agent = RainbowAgent(make_net(config), config)
    obs = np.zeros((rows, 4, 36, 36), np.uint8)
    greedy = agent.act(obs)
    others = [(agent.act(obs, play="draw") != greedy) for _ in range(1 if rows > 1 else 1000)]
    mean = 0.4 * (1 - 0.4**7) / (-7 * np.log(0.4))  # of 0.4^(1 + 7 u), u from 0 to 1: 6 %
    assert np.mean(others) == pytest.approx(mean * 6 / 7, abs=0.02)
    if rows > 1:
        assert np.mean(others[0][:100]) == pytest.approx(0.38 * 6 / 7, abs=0.15)
        assert not others[0][-500:].any()
