import numpy as np
import torch

from retro_agents.run.config import replaced
from sac.agent import SACAgent, make_net
from sac.config import SACConfig

SMALL = replaced(SACConfig(), image_height=36, image_width=36, hidden=32)


def agent_of(probabilities):
    """One whose policy is this, whatever it sees."""
    agent = SACAgent(make_net(SMALL), SMALL)
    with torch.no_grad():
        agent.net.policy[-1].weight.zero_()
        agent.net.policy[-1].bias.copy_(torch.tensor(probabilities).log())
    return agent


def test_exploring_it_draws_from_its_policy():
    wanted = [0.4, 0.3, 0.1, 0.1, 0.05, 0.04, 0.01]
    agent = agent_of(wanted)
    torch.manual_seed(0)
    obs = np.zeros((4000, 4, 36, 36), np.uint8)
    shares = np.bincount(agent.act(obs, play="draw"), minlength=7) / 4000
    np.testing.assert_allclose(shares, wanted, atol=0.03)
    assert set(agent.act(obs[:50], play="best").tolist()) == {0}


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


def test_in_bf16_scores_are_not_rounded():
    agent = SACAgent(make_net(SMALL), SMALL)
    torch.nn.init.constant_(agent.net.policy[-1].bias, 40.0)
    images = torch.randint(256, (32, 4, 36, 36), dtype=torch.uint8)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        scores = agent.scores(images)
    assert scores.dtype == torch.float32 and scores.unique().numel() > scores.numel() // 2
