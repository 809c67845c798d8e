import dataclasses

import numpy as np
import pytest
import torch

from es.agent import ESAgent


@pytest.mark.parametrize(
    ("draws", "explore", "drawn"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
def test_actions_are_the_best_or_drawn_from_the_policy(quick, draws, explore, drawn):
    torch.manual_seed(0)
    agent = ESAgent.start(dataclasses.replace(quick, draw_actions=draws))
    agent.net.take(agent.net.flat() * np.float32(300.0))  # it would hardly prefer anything
    image = np.random.default_rng(0).integers(256, size=(1, 4, 36, 36), dtype=np.uint8)
    policy = agent.scores(torch.from_numpy(image))[0].softmax(dim=0).numpy()
    assert 0.3 < policy.max() < 0.7
    actions = agent.act(np.repeat(image, 4_000, axis=0), explore=explore)
    found = np.bincount(actions, minlength=7) / len(actions)
    expected = policy if drawn else np.eye(7)[policy.argmax()]
    np.testing.assert_allclose(found, expected, atol=0.04)  # 5 standard errors
