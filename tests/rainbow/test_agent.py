import numpy as np
import torch

from experiment.config import replaced
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig

SMALL = replaced(RainbowConfig(), image_height=36, image_width=36, hidden=32, atoms=11)


def test_on_a_cpu_it_acts_in_fp32_whatever_the_precision():
    """A bf16 learner's weights would be cast for a few observations at every step."""
    torch.manual_seed(0)
    net = make_net(SMALL)
    obs = np.random.default_rng(0).integers(0, 256, (500, 4, 36, 36), dtype=np.uint8)
    actions = []
    for precision, half in (("fp32", False), ("bf16", False), ("bf16", True)):
        torch.manual_seed(1)
        agent = RainbowAgent(net, replaced(SMALL, precision=precision))
        agent.half = agent.half or half
        actions.append(agent.act(obs, explore=True))
    np.testing.assert_array_equal(actions[0], actions[1])
    assert (actions[0] != actions[2]).any()  # where it would show
