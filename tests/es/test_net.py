import dataclasses

import numpy as np
import pytest
import torch

from es.agent import ESAgent
from es.memory import Noise
from es.net import ESNet, Members
from es.play import Frozen
from experiment.errors import UserError
from ppo2.agent import PPO2Agent
from ppo2.agent import make_net as make_ppo2
from ppo2.config import PPO2Config
from rainbow.agent import RainbowAgent
from rainbow.agent import make_net as make_rainbow
from rainbow.config import RainbowConfig

SMALL = {"image_height": 36, "image_width": 36, "hidden": 24, "encoder": "data-efficient"}


def images(rows=6, seed=0):
    return np.random.default_rng(seed).integers(256, size=(rows, 4, 36, 36), dtype=np.uint8)


@pytest.mark.parametrize("flags", [{}, {"noisy": True}, {"encoder": "impala", "widths": "4,8"}])
def test_ppo2s_policy_is_taken_over(quick, tmp_path, flags):
    torch.manual_seed(0)
    config = PPO2Config(**{**SMALL, **flags})
    source = PPO2Agent(make_ppo2(config), config)
    source.save(tmp_path)
    agent = ESAgent.start(dataclasses.replace(quick, encoder="nature", hidden=7), tmp_path)
    obs = torch.from_numpy(images())
    torch.testing.assert_close(agent.scores(obs), source.scores(obs))
    assert agent.config.encoder == config.encoder and agent.config.hidden == 24


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"streams": "separate"},
        {"dueling": False, "distributional": False},
        {"distributional": False, "noisy": False},
    ],
)
def test_rainbows_values_are_taken_over(quick, tmp_path, flags):
    torch.manual_seed(0)
    config = RainbowConfig(**SMALL, atoms=5, v_min=-1.0, v_max=3.0, **flags)
    source = RainbowAgent(make_rainbow(config), config)
    source.save(tmp_path)
    agent = ESAgent.start(quick, tmp_path)
    obs = torch.from_numpy(images())
    torch.testing.assert_close(agent.scores(obs), source.scores(obs))
    np.testing.assert_array_equal(agent.act(images()), source.act(images()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"recurrent": "gru"}, "recurrent"),
        ({"image_height": 40}, "--image-height 40"),
        ({"actions": 10}, "--actions 10"),
    ],
)
def test_net_that_does_not_fit_is_refused_in_one_line(quick, tmp_path, changes, words):
    config = PPO2Config(**{**SMALL, **changes})
    PPO2Agent(make_ppo2(config), config).save(tmp_path)
    with pytest.raises(UserError, match=words) as error:
        ESAgent.start(quick, tmp_path)
    assert "\n" not in str(error.value)


def test_fully_connected_layer_of_nature_has_1_6_million_weights(quick):
    config = dataclasses.replace(
        quick, image_height=84, image_width=84, encoder="nature", hidden=512, layer="fc"
    )
    assert Noise(0, ESNet(config).shapes).size == 3136 * 512 + 512
    head = ESNet(dataclasses.replace(config, layer="head"))
    assert Noise(0, head.shapes).size == 512 * 7 + 7


@pytest.mark.parametrize("layer", ["head", "fc"])
def test_each_row_acts_by_its_own_weights(quick, layer):
    torch.manual_seed(0)
    net = ESNet(dataclasses.replace(quick, layer=layer))
    members, rng = Members(net, 3), np.random.default_rng(0)
    vectors = [net.flat() + rng.normal(size=net.flat().shape).astype(np.float32) for _ in range(3)]
    for row, vector in enumerate(vectors):
        members.put(row, vector)
    frozen = net.frozen(torch.from_numpy(images(3)))
    batched = members.scores(frozen)
    for row, vector in enumerate(vectors):
        net.take(vector)
        np.testing.assert_array_equal(net.flat(), vector)
        alone = net.scores(frozen[row : row + 1], net.plain)[0]
        torch.testing.assert_close(batched[row], alone, rtol=1e-4, atol=1e-5)


def test_rows_result_depends_on_no_other_row_nor_on_its_place(quick):
    torch.manual_seed(0)
    net = ESNet(dataclasses.replace(quick, layer="fc"))
    vectors = [net.flat() * np.float32(scale) for scale in (1.0, 1.5, -2.0, 0.3)]
    obs = images(4)

    def scores(order):
        members, frozen = Members(net, 4), Frozen(net, 4, size=0)
        for row, which in enumerate(order):
            members.put(row, vectors[which])
        return members.scores(frozen(obs[order]))[order.index(1)]

    expected = scores([0, 1, 2, 3])
    for order in ([1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]):
        assert torch.equal(scores(order), expected)


@pytest.mark.parametrize("layer", ["head", "fc"])
def test_what_is_remembered_is_what_would_be_computed(quick, layer):
    torch.manual_seed(0)
    net = ESNet(dataclasses.replace(quick, layer=layer))
    plain, cached = Frozen(net, 2, size=0), Frozen(net, 2, size=3)
    rng = np.random.default_rng(0)
    every = images(5)
    for _ in range(40):
        obs = every[rng.integers(5, size=2)]
        assert torch.equal(cached(obs), plain(obs))
    assert 0 < cached.found < cached.asked == 80 and len(cached.known) == 3
