import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ppo2.agent import PPO2Agent, make_net
from ppo2.config import PPO2Config
from ppo2.learner import Learner
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group

SMALL = replaced(PPO2Config(), hidden=64, encoder="data-efficient")
CPU = torch.device("cpu")


class Casts(TorchDispatchMode):
    """Counts what is cast to another type."""

    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += func is torch.ops.aten._to_copy.default
        return func(*args, **(kwargs or {}))


def test_weights_are_cast_once_for_all_calls_within_one_autocast():
    config = replaced(SMALL, precision="bf16")
    agent = PPO2Agent(make_actor_critic(config), config)
    images = torch.randint(256, (2, 4, 84, 84), dtype=torch.uint8)
    rows = {"state": agent.no_state(2), "starts": torch.ones(2, dtype=torch.bool)}
    with Casts() as alone:
        expected = agent.evaluate(images, **rows)[0]
    with agent.autocast():
        first = agent.evaluate(images, **rows)[0]
        with Casts() as later:
            second = agent.evaluate(images, **rows)[0]
    assert torch.equal(first, expected) and torch.equal(second, expected)
    weights = len([*agent.net.encoder.parameters(), *agent.net.hidden.parameters()])
    assert alone.seen - later.seen == weights - 1  # the first weight is divided by 255 before
    with torch.no_grad():
        agent.net.head.policy.bias[0] += 1.0
    assert not torch.equal(agent.evaluate(images, **rows)[0], expected)


def test_values_are_no_coarser_in_bf16_than_what_the_last_layer_sees():
    """As numbers of bf16 they would be a multiple of 0.25 at 40."""
    torch.manual_seed(0)
    config = replaced(SMALL, precision="bf16")
    agent = PPO2Agent(make_actor_critic(config), config)
    torch.nn.init.constant_(agent.net.head.value.bias, 40.0)
    images, starts = torch.randint(256, (32, 4, 84, 84)).byte(), torch.ones(32, dtype=torch.bool)
    _, values, _ = agent.evaluate(images, state=agent.no_state(32), starts=starts)
    assert values.dtype == torch.float32 and values.unique().numel() == 32


@pytest.mark.parametrize("has", [True, False], ids=["with bf16", "without"])
def test_auto_is_what_the_nets_compute_in(monkeypatch, has):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has})
    config = replaced(SMALL, precision="auto")
    agent = PPO2Agent(make_actor_critic(config), config)
    learner = Learner(agent.net, config, device=CPU, group=Group())
    assert agent.half == learner.half == has


def test_noisy_layers_begin_with_the_weights_of_a_pretrained_net(tmp_path):
    plain = PPO2Agent(make_net(SMALL), SMALL)
    plain.save(tmp_path)
    config = replaced(SMALL, noisy=True, sigma0=0.3)
    agent = PPO2Agent(make_net(config), config)
    agent.start_from(tmp_path)
    images = torch.randint(256, (4, 4, 84, 84), dtype=torch.uint8)
    torch.testing.assert_close(agent.scores(images), plain.scores(images))
    inputs = agent.net.hidden.inputs
    assert agent.net.hidden.weight_sigma.unique().tolist() == pytest.approx([0.3 / inputs**0.5])
