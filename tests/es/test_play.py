import dataclasses

import numpy as np
import pytest
import torch

from es.emulators import Answer, Start
from es.memory import Noise, Task
from es.net import ESNet
from es.play import Episode, Player, chance_of
from tests.es.lanes import Lanes


def player_of(config, rows=1):
    """A player and its policy's chances of each action; rows after the first are members."""
    torch.manual_seed(0)
    stage, net = Lanes(rows), ESNet(config)
    player = Player(stage, net, config, noise=Noise(0, net.shapes))
    stage.obs[:] = np.random.default_rng(0).integers(256, size=(4, 36, 36))
    theta = net.flat() * np.float32(300.0)  # an untrained policy hardly prefers anything
    for row in range(rows):
        player.members.put(row, theta)
        task, start = Task(row - 1, min(row, 1), 0), Start(0, 0, 0)
        player.rows[row] = Episode(row, task, start, np.random.default_rng(row))
    net.take(theta)
    return player, net(torch.from_numpy(stage.obs[:1]))[0].softmax(dim=0).numpy()


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_actions_have_their_chances_and_only_members_have_action_noise(quick, draws, noise):
    config = dataclasses.replace(quick, draw_actions=draws, action_noise=noise)
    player, policy = player_of(config, rows=2)
    assert 0.3 < policy.max() < 0.7
    plain = policy if draws else np.eye(7)[policy.argmax()]
    actions = np.stack([player.act() for _ in range(4_000)])
    for row, expected in ((0, plain), (1, (1.0 - noise) * plain + noise / 7)):
        found = np.bincount(actions[:, row], minlength=7) / len(actions)
        np.testing.assert_allclose(found, expected, atol=0.04)  # 5 standard errors


def test_returns_are_the_games_whatever_scale_rewards_have(quick):
    player, _ = player_of(dataclasses.replace(quick, reward_scale=0.01))
    for reward in (2.0, 3.0):
        player.add(0, Answer(reward))
    assert player.rows[0].total == 500.0


def test_what_an_episode_draws_is_not_what_its_emulator_draws():
    mine, emulators = chance_of(Start(0, 7, 0)), np.random.default_rng(7)
    assert not np.isin(mine.random(50), emulators.random(200)).any()
    assert chance_of(Start(1, 7, 9)).random() == chance_of(Start(0, 7, 0)).random()
