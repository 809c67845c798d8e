import dataclasses

import numpy as np
import pytest
import torch

from es.agent import ESAgent, shapes
from es.emulators import Answer, Start
from es.memory import Noise, Task
from es.play import Episode, Members, Player, chance_of
from tests.es.lanes import Lanes
from tests.es.test_agent import images, ppo2, rainbow


def player_of(config, rows=1):
    """A player and its policy's chances of each action; rows after the first are members."""
    torch.manual_seed(0)
    stage, agent = Lanes(rows), ESAgent.start(config)
    player = Player(stage, agent, noise=Noise(0, shapes(agent.net, agent.names)))
    stage.obs[:] = np.random.default_rng(0).integers(256, size=(4, 36, 36))
    theta = agent.theta * np.float32(300.0)  # an untrained policy hardly prefers anything
    for row in range(rows):
        player.members.put(row, theta)
        player.rows[row] = Episode(row, Task(row - 1, min(row, 1), 0), np.random.default_rng(row))
    agent.take(theta)
    scores = agent.scores(torch.from_numpy(stage.obs[:1]))[0]
    return player, scores.softmax(dim=0).detach().numpy()


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


AGENTS = {
    "ppo2": ppo2(),
    "noisy": ppo2(noisy=True),
    "rainbow": rainbow(),
    "separate": rainbow(streams="separate"),
}


@pytest.mark.parametrize("layer", ["head", "fc"])
@pytest.mark.parametrize("source", list(AGENTS))
@pytest.mark.parametrize("cache", [0, 2])
def test_each_row_has_the_scores_of_a_net_with_its_weights(quick, tmp_path, source, layer, cache):
    AGENTS[source].save(tmp_path)
    config = dataclasses.replace(quick, layer=layer, feature_cache=cache)
    agent, rng = ESAgent.start(config, tmp_path), np.random.default_rng(0)
    members, start = Members(agent, 3), agent.theta
    thetas = [start + rng.normal(size=start.shape).astype(np.float32) for _ in range(3)]
    for row, theta in enumerate(thetas):
        members.put(row, theta)
    scores = members.scores(images(3))
    assert torch.equal(members.scores(images(3)), scores)
    np.testing.assert_array_equal(agent.theta, start)
    for row, theta in enumerate(thetas):
        agent.take(theta)
        alone = agent.scores(torch.from_numpy(images(3)[row : row + 1]))[0].detach()
        torch.testing.assert_close(scores[row], alone, rtol=1e-5, atol=1e-5)
    assert (scores[0] - scores[1]).abs().max() > 0.01


@pytest.mark.parametrize("layer", ["head", "fc"])
def test_rows_result_depends_on_no_other_row_nor_on_its_place(quick, layer):
    torch.manual_seed(0)
    agent = ESAgent.start(dataclasses.replace(quick, layer=layer, feature_cache=0))
    thetas = [agent.theta * np.float32(scale) for scale in (1.0, 1.5, -2.0, 0.3)]
    obs = images(4)

    def scores(order):
        members = Members(agent, 4)
        for row, which in enumerate(order):
            members.put(row, thetas[which])
        return members.scores(obs[order])[order.index(1)]

    expected = scores([0, 1, 2, 3])
    for order in ([1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]):
        assert torch.equal(scores(order), expected)


@pytest.mark.parametrize("layer", ["head", "fc"])
def test_what_is_remembered_is_what_would_be_computed(quick, layer):
    agent = ESAgent.start(dataclasses.replace(quick, layer=layer, feature_cache=3))
    cached, rng, every = Members(agent, 2), np.random.default_rng(0), images(5)
    for _ in range(40):
        obs = every[rng.integers(5, size=2)]
        assert torch.equal(cached.remembered(obs), cached.frozen(torch.from_numpy(obs)))
    assert 0 < cached.found < cached.asked == 80 and len(cached.known) == 3
