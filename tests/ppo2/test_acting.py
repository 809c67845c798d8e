import dataclasses

import numpy as np
import pytest
import torch

from experiment.distributed import Group
from ppo2.acting import Acting
from ppo2.agent import PPO2Agent, make_net
from ppo2.config import PPO2Config
from ppo2.learner import Learner

SMALL = PPO2Config(precision="bf16", hidden=64, encoder="data-efficient")
CPU = torch.device("cpu")
NEAR = {"bf16": 0.02, "fp32": 1e-5}
"""How far adding in another order may lead."""


def agent_of(config):
    torch.manual_seed(0)
    agent = PPO2Agent(make_net(config), config, apart=True)
    with torch.no_grad():  # a policy that tells images apart
        agent.net.head.policy.weight.mul_(300.0)
    agent.renew()
    return agent


def outputs(agent, images):
    """Log-probabilities and values by the agent, and by its net as the learner runs it."""
    state, starts = agent.no_state(len(images)), torch.ones(len(images), dtype=torch.bool)
    log_probs, values, _ = agent.evaluate(images, state=state, starts=starts)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=agent.half):
        logits, expected, _ = agent.net(images, state=state, starts=starts)
    return (log_probs, logits.log_softmax(dim=1)), (values, expected)


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"encoder": "nature", "frame_stack": 3, "image_width": 100},
        {"encoder": "mobilenet"},
        {"encoder": "impala", "pool": True},
        {"noisy": True},
        {"recurrent": "gru"},
    ],
    ids=lambda flags: next(iter(flags.values()), "data-efficient"),
)
@pytest.mark.parametrize("precision", NEAR)
@pytest.mark.parametrize("rows", [1, 5])
def test_agent_acts_as_its_net_learns(flags, precision, rows):
    config = dataclasses.replace(SMALL, **flags, precision=precision)
    agent = agent_of(config)
    shape = (rows, config.frame_stack, config.image_height, config.image_width)
    images = torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape, np.uint8))
    near = NEAR[precision] if isinstance(agent.actor, Acting) else 0.0
    for found, expected in outputs(agent, images):
        torch.testing.assert_close(found, expected, rtol=near, atol=near)
    (log_probs, _), _ = outputs(agent, images)
    assert log_probs.std() > 0.05


@pytest.mark.parametrize("precision", NEAR)
@pytest.mark.parametrize("flags", [{}, {"encoder": "impala"}], ids=["packed", "copied"])
def test_agent_acts_with_new_weights_once_renewed(precision, flags):
    agent = agent_of(dataclasses.replace(SMALL, precision=precision, overlap=True, **flags))
    images = torch.full((2, 4, 84, 84), 200, dtype=torch.uint8)
    before = outputs(agent, images)
    with torch.no_grad():
        for parameter in agent.net.parameters():
            parameter.mul_(0.5)
    for (old, _), (found, expected) in zip(before, outputs(agent, images), strict=True):
        assert torch.equal(found, old)
        assert (expected - old).abs().max() > 2.0 * NEAR["bf16"]
    agent.renew()
    for found, expected in outputs(agent, images):
        torch.testing.assert_close(found, expected, rtol=NEAR[precision], atol=NEAR[precision])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_what_cannot_be_packed_acts_with_a_copy_of_the_net(dtype):
    if dtype == torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        pytest.skip("this CPU has no bf16")
    packed = {"encoder": "mobilenet"}, {"encoder": "nature"}
    plain = {"noisy": True}, {"recurrent": "lstm"}, {"encoder": "impala"}
    for flags in (*packed, *plain):
        net = make_net(dataclasses.replace(SMALL, **flags))
        assert Acting.fits(net, CPU, dtype) == (flags in packed), flags


def test_exploring_a_noisy_net_has_its_noise():
    agent = agent_of(dataclasses.replace(SMALL, noisy=True, precision="fp32"))
    with torch.no_grad():  # a policy that is sure of itself but for the noise
        agent.net.head.policy.weight.zero_()
        agent.net.head.policy.bias.copy_(torch.arange(7.0) * 100.0)
        agent.net.head.policy.bias_sigma.fill_(1e4)
    agent.renew()
    obs = np.zeros((20, 4, 84, 84), np.uint8)
    assert set(agent.act(obs).tolist()) == {6}
    drawn = agent.act(obs, explore=True)
    assert len(set(drawn.tolist())) > 2
    torch.manual_seed(3)
    first = agent.act(obs, explore=True)
    torch.manual_seed(3)
    np.testing.assert_array_equal(first, agent.act(obs, explore=True))


def test_a_run_in_fp32_acts_with_packed_weights_where_there_is_onednn():
    packed = isinstance(agent_of(dataclasses.replace(SMALL, precision="fp32")).actor, Acting)
    assert packed == torch.backends.mkldnn.is_available()


@pytest.mark.parametrize("has", [True, False], ids=["with bf16", "without"])
def test_auto_is_what_the_nets_compute_in(monkeypatch, has):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has})
    config = dataclasses.replace(SMALL, precision="auto")
    agent = PPO2Agent(make_net(config), config)
    learner = Learner(agent.net, config, device=CPU, group=Group())
    assert agent.half == learner.half == has
