import dataclasses

import numpy as np
import torch

from experiment.config import replaced
from rainbow import agent as module
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig

SMALL = replaced(RainbowConfig(), image_height=36, image_width=36, hidden=32, atoms=11)


def test_on_a_cpu_it_acts_in_fp32_whatever_the_precision(monkeypatch):
    """A bf16 learner's weights would be cast for a few observations at every step."""
    seen = []

    def q_values(outputs, z):
        seen.append(outputs)
        return values(outputs, z)

    values = module.q_values
    monkeypatch.setattr(module, "q_values", q_values)
    torch.manual_seed(0)
    net = make_net(SMALL)
    obs = np.random.default_rng(0).integers(0, 256, (5, 4, 36, 36), dtype=np.uint8)
    for precision in ("fp32", "bf16"):
        torch.manual_seed(1)
        config = dataclasses.replace(SMALL, precision=precision)
        RainbowAgent(net, config, device="cpu").act(obs, explore=True)
    assert torch.equal(seen[0], seen[1])
