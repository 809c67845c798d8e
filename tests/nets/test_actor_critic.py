import math

import numpy as np
import pytest
import torch

from impala.config import ImpalaConfig
from ppo2.config import PPO2Config
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import choose, entropies, make_actor_critic, sample_actions
from retro_agents.nets.noisy import NoisyLinear
from retro_agents.run.config import replaced


def test_actions_are_drawn_with_their_probabilities():
    log_probs = torch.log(torch.tensor([[0.1, 0.0, 0.6, 0.3]])).expand(10_000, 4)
    uniforms = (torch.arange(10_000) + 0.5) / 10_000
    counts = torch.bincount(sample_actions(log_probs, uniforms), minlength=4)
    assert counts.tolist() == [1000, 0, 6000, 3000]
    rounded_down = torch.log(torch.tensor([[0.3, 0.3, 0.3999]]))
    assert sample_actions(rounded_down, torch.tensor([0.99999])).tolist() == [2]


@pytest.mark.parametrize(
    ("play", "shares"),
    [
        ("best", [0.0, 1.0, 0.0]),
        ("draw", [0.2, 0.5, 0.3]),
        ("draw:0.5", [4 / 38, 25 / 38, 9 / 38]),
        ("epsilon:0.3", [0.1, 0.8, 0.1]),
        ("epsilon:1.0", [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_actions_are_chosen_as_the_way_to_play_says(play, shares):
    log_probs = torch.tensor([0.2, 0.5, 0.3]).log().expand(20_000, 3)
    found = torch.bincount(choose(log_probs, play), minlength=3) / 20_000
    torch.testing.assert_close(found, torch.tensor(shares), atol=0.02, rtol=0.0)


@pytest.mark.parametrize("play", ["", "greedy", "draw:0", "draw:-1", "epsilon:1.5", "best:2"])
def test_an_unknown_way_to_play_is_refused(play):
    with pytest.raises(UserError, match=r"expected best .greedy., draw, draw:T"):
        choose(torch.zeros(1, 3), play)


def test_entropies_lie_between_certain_and_uniform():
    logits = torch.tensor([[0.0, 0.0, 0.0], [90.0, 0.0, 0.0], [math.log(2.0), 0.0, -90.0]])
    mixed = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    found = entropies(logits.log_softmax(dim=1))
    torch.testing.assert_close(found, torch.tensor([math.log(3.0), 0.0, mixed]))


def test_a_recurrent_net_remembers_as_many_units_as_it_is_told():
    small = {"image_height": 36, "image_width": 36, "hidden": 8, "recurrent_hidden": 5}
    net = make_actor_critic(replaced(ImpalaConfig(), recurrent="lstm", **small))
    assert net.core.state_size == 2 * 5 == 2 * net.head.policy.in_features


def test_noise_is_that_of_each_row_and_none_means_the_mean_weights():
    config = replaced(PPO2Config(), image_height=36, image_width=36, hidden=8)
    net = make_actor_critic(config, linear=NoisyLinear)
    images = torch.randint(256, (2, 4, 36, 36), dtype=torch.uint8)
    rows = {"state": torch.zeros(2, 0), "starts": torch.ones(2, dtype=torch.bool)}
    noise = net.draw_noise([np.random.default_rng(row) for row in (3, 4)], torch.device("cpu"))
    logits, values, _ = net(images, noise=noise, **rows)

    def made(layer, x, row, number):
        e_in, e_out = (part[row] for part in noise[number])
        weight = layer.weight + layer.weight_sigma * e_out[:, None] * e_in
        return weight @ x + layer.bias + layer.bias_sigma * e_out

    for row, features in enumerate(net.encoder(images)):
        hidden = made(net.hidden, features, row, 0).relu()
        torch.testing.assert_close(logits[row], made(net.head.policy, hidden, row, 1))
        torch.testing.assert_close(values[row], made(net.head.value, hidden, row, 2)[0])
    drawn = np.random.default_rng(4).standard_normal(net.hidden.inputs, np.float32)
    np.testing.assert_allclose(noise[0][0][1], np.sign(drawn) * np.sqrt(np.abs(drawn)), rtol=1e-5)
    hidden = (net.hidden.weight @ net.encoder(images).T + net.hidden.bias[:, None]).relu()
    mean = (net.head.policy.weight @ hidden).T + net.head.policy.bias
    torch.testing.assert_close(net(images, **rows)[0], mean)
