import numpy as np
import torch

from retro_agents.run.config import replaced
from sac.agent import SACAgent, make_net
from sac.config import SACConfig

SMALL = replaced(SACConfig(), image_height=36, image_width=36, hidden=32)


def test_an_untrained_policy_is_nearly_uniform():
    torch.manual_seed(0)
    agent = SACAgent(make_net(SMALL), SMALL)
    obs = np.random.default_rng(0).integers(256, size=(8, 4, 36, 36), dtype=np.uint8)
    with torch.no_grad():
        shares = agent.scores(torch.from_numpy(obs)).softmax(dim=1)
    np.testing.assert_allclose(shares.numpy(), 1 / 7, atol=0.01)


def test_scores_give_the_convolutions_a_gradient():
    """For those who teach the policy directly."""
    agent = SACAgent(make_net(SMALL), SMALL)
    agent.scores(torch.randint(256, (2, 4, 36, 36), dtype=torch.uint8))[:, 0].sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in agent.net.encoder.parameters())
