import copy
import math

import numpy as np
import pytest
import torch

from retro_agents.run.config import replaced
from sac.agent import make_net
from sac.config import SACConfig
from sac.learner import Learner, soft_values
from tests.experience.batches import random_batch

SMALL = replaced(SACConfig(), image_height=36, image_width=36, hidden=32, temperature=0.7)
CPU = torch.device("cpu")


def make_learner(seed=1, **flags):
    """A learner whose target and policy differ from their initial weights."""
    torch.manual_seed(seed)
    config = replaced(SMALL, **flags)
    learner = Learner(make_net(config), config, device=CPU)
    with torch.no_grad():
        for parameter in (*learner.target.parameters(), *learner.net.policy.parameters()):
            parameter.add_(0.05 * torch.randn_like(parameter))
    return learner


def policy_of(logits):
    """The softmax of logits, action by action."""
    exps = [math.exp(x - max(logits)) for x in logits]
    return [x / sum(exps) for x in exps]


def slow_soft_value(logits, q_one, q_two, temperature):
    value = 0.0
    for a, probability in enumerate(policy_of(logits)):
        value += probability * (min(q_one[a], q_two[a]) - temperature * math.log(probability))
    return value


def slow_losses(learner, batch):
    """Mean losses of critics and policy, and each row's error, one transition at a time."""
    alpha = math.exp(learner.net.log_temperature.item())
    net, target = learner.net, learner.target
    with torch.no_grad():
        now = net.encoder(torch.from_numpy(batch.obs))
        after = net.encoder(torch.from_numpy(batch.next_obs))
        after_target = target.encoder(torch.from_numpy(batch.next_obs))
        q_one, q_two = (critic(now).tolist() for critic in net.critics)
        next_one, next_two = (critic(after_target).tolist() for critic in target.critics)
        logits, next_logits = net.policy(now).tolist(), net.policy(after).tolist()
    critic_loss = policy_loss = 0.0
    priorities = []
    size = len(batch.actions)
    for b in range(size):
        value = slow_soft_value(next_logits[b], next_one[b], next_two[b], alpha)
        wanted = batch.returns[b] + batch.discounts[b] * value
        errors = [q[b][batch.actions[b]] - wanted for q in (q_one, q_two)]
        critic_loss += batch.weights[b] * sum(0.5 * error**2 for error in errors) / size
        priorities.append(sum(abs(error) for error in errors) / 2)
        policy_loss -= slow_soft_value(logits[b], q_one[b], q_two[b], alpha) / size
    return critic_loss, policy_loss, priorities


@pytest.mark.parametrize("seed", range(3))
def test_losses_and_priorities_match_the_slow_oracle(seed):
    learner, batch = make_learner(seed), random_batch(seed=seed)
    critic_loss, policy_loss, priorities = slow_losses(learner, batch)
    got, metrics = learner.update(batch)
    np.testing.assert_allclose(got.numpy(), priorities, rtol=1e-4)
    assert metrics["critic_loss"].item() == pytest.approx(critic_loss, rel=1e-4)
    assert metrics["policy_loss"].item() == pytest.approx(policy_loss, rel=1e-4)


@pytest.mark.parametrize(("target", "sign"), [(1.0, 1.0), (0.1, -1.0)])
def test_an_update_moves_the_temperature_towards_the_entropy_target(target, sign):
    learner = make_learner(entropy_target=target, temperature_rate=1e-3)
    before = learner.net.log_temperature.item()
    _, metrics = learner.update(random_batch())
    assert learner.entropy_target == pytest.approx(target * math.log(7))
    gradient = metrics["entropy"].item() - learner.entropy_target
    assert learner.net.log_temperature.grad.item() == pytest.approx(gradient, abs=1e-6)
    assert learner.net.log_temperature.item() - before == pytest.approx(sign * 1e-3, rel=1e-3)


def test_gradients_are_clipped_to_the_norm():
    slow = {"learning_rate": 1.0, "temperature_rate": 1.0, "adam_epsilon": 1.0}
    learner = make_learner(gradient_norm=1e-12, **slow)
    before = copy.deepcopy(learner.net)
    _, metrics = learner.update(random_batch())
    assert metrics["gradient_norm"] > 1e-3  # as it was before
    for was, now in zip(before.parameters(), learner.net.parameters(), strict=True):
        torch.testing.assert_close(was, now, rtol=0.0, atol=1e-7)


def test_targets_follow_as_a_moving_average():
    learner = make_learner(target_rate=0.25)
    before = copy.deepcopy(learner.target.state_dict())
    learner.update(random_batch())
    for name, latest in learner.net.state_dict().items():
        wanted = 0.75 * before[name] + 0.25 * latest
        torch.testing.assert_close(learner.target.state_dict()[name], wanted, msg=name)


def test_convolutions_learn_from_the_critics_alone():
    """Without errors of the critics both stay; the policy's layers learn from its loss alone."""
    learner, batch = make_learner(), random_batch(weights=np.zeros(6, np.float32))
    before = copy.deepcopy(learner)
    q_values, logits, *_ = before.outputs(*map(torch.from_numpy, (batch.obs, batch.next_obs)))
    temperature = before.net.log_temperature.detach().exp()
    soft_values(logits, q_values.detach(), temperature).mean().neg().backward()
    learner.update(batch)
    for one, same in zip(
        learner.net.policy.parameters(), before.net.policy.parameters(), strict=True
    ):
        torch.testing.assert_close(one.grad, same.grad)
    others = [*learner.net.encoder.parameters(), *learner.net.critics.parameters()]
    assert not any(parameter.grad.any() for parameter in others)
    learner.update(random_batch())
    assert all(parameter.grad.any() for parameter in others)


def test_every_parameter_learns_in_bf16():
    learner = make_learner(precision="bf16")
    before = copy.deepcopy(learner.net.state_dict())
    learner.update(random_batch())
    for name, parameter in learner.net.state_dict().items():
        assert not torch.equal(parameter, before[name]), name


def test_outputs_are_no_coarser_in_bf16_than_what_the_last_layers_see():
    """As numbers of bf16 they would be a multiple of 0.25 at 40."""
    torch.manual_seed(0)
    net = make_net(SMALL)
    for head in (*net.critics, net.policy):
        torch.nn.init.constant_(head[-1].bias, 40.0)
    features = torch.rand(32, net.policy[0].in_features)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        found = [*net.q_values(features), net.logits(features)]
    for outputs in found:
        assert outputs.dtype == torch.float32 and outputs[:, 0].unique().numel() == 32


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_update_on_a_gpu_equals_the_one_on_the_cpu():
    results = []
    for device in (CPU, torch.device("cuda")):
        torch.manual_seed(0)
        learner = Learner(make_net(SMALL).to(device), SMALL, device=device)
        for seed in range(4):
            errors, _ = learner.update(random_batch(seed=seed))
        results.append(errors.cpu())
    torch.testing.assert_close(results[0], results[1], rtol=1e-2, atol=1e-2)
