"""How often PPO2 waits for a GPU: counted without one, on PyTorch's device "meta".

Tensors there have shapes and no values: as on a GPU, mixing them with the CPU's is an error, and
reading a value is a call that can be seen.
"""

from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ppo2.config import PPO2Config
from ppo2.training import Training
from retro_agents.run.config import replaced
from retro_agents.run.optimiser import Adam

STEPS, ENVS = 8, 4
CONFIG = replaced(
    PPO2Config(), rollout_steps=STEPS, minibatches=1, epochs=1, encoder="data-efficient", hidden=8
)
READS = (Tensor.item, Tensor.tolist, Tensor.__bool__, Tensor.__float__, Tensor.__int__)


class Waits(TorchFunctionMode):
    """Counts what would wait for the device, and gives zeros for it."""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is Tensor.pin_memory:  # needs a driver
            return args[0]
        kwargs = kwargs or {}
        if func is Tensor.to and torch.device("meta") in args and not kwargs.get("non_blocking"):
            self.seen["to"] += args[0].device.type == "cpu"
        if not args or not isinstance(args[0], Tensor) or args[0].device.type != "meta":
            return func(*args, **kwargs)
        if func is Tensor.cpu or func in READS:
            self.seen[func.__name__] += 1
            zeros = torch.zeros(args[0].shape, dtype=args[0].dtype)
            return func(zeros, *args[1:])
        return func(*args, **kwargs)

    def taken(self):
        """What was counted since the last time."""
        seen, self.seen = self.seen, Counter()
        return seen


@pytest.fixture(autouse=True)
def on_meta(monkeypatch):
    """A run's device is "meta"; what PyTorch has for real devices only is left out."""
    monkeypatch.setattr("ppo2.training.prepare_device", lambda name: torch.device("meta"))
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)
    monkeypatch.setattr(torch, "autocast", lambda *args, **flags: nullcontext())
    for module in ("ppo2.learner", "retro_agents.experience.rnd"):
        monkeypatch.setattr(f"{module}.Adam", lambda *args, fused, **flags: Adam(*args, **flags))


def waits(config):
    """What waits in the second rollout: while acting, while learning."""
    obs, never = np.zeros((ENVS, 4, 84, 84), np.uint8), np.zeros(ENVS, bool)
    with Waits() as mode:
        training = Training(config, ENVS)
        for _ in range(2):
            mode.taken()
            for step in range(STEPS):
                for part in training.collector.parts:
                    training.collector.act(obs[part], part)
                    flags, cut = never[part], np.full(len(never[part]), step == 3)
                    infos, levels = {"final_obs": obs}, [""] * len(cut)
                    training.collector.add(
                        (np.zeros(len(cut)), flags, cut, infos), levels=levels, part=part
                    )
            acting = mode.taken()
            training.learn(obs)
    return acting, mode.taken()


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"microbatches": 3, "learning_rate_schedule": "linear"},
        {"encoder": "impala", "normalise": "rollout", "normalise_returns": True},
        {"rnd": 0.1, "novelty": 0.1},
    ],
    ids=["plain", "pieces", "impala", "curious"],
)
def test_waits_for_actions_and_not_for_minibatches(flags):
    config = replaced(CONFIG, **flags)
    acting, learning = waits(config)
    assert acting == {"cpu": STEPS * config.act_parts}
    _, longer = waits(replaced(config, minibatches=2, epochs=2))
    assert learning == longer
    assert learning["tolist"] == 1  # the metrics
