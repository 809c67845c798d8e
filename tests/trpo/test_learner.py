from dataclasses import replace

import numpy as np
import pytest
import torch

import trpo.learner
from retro_agents.run.config import replaced
from tests.trpo.test_train import QUICK
from trpo.agent import LogPolicy, make_net
from trpo.learner import (
    SHRINK,
    TRIES,
    Learner,
    conjugate_gradients,
    fisher_vector_product,
    flat,
    kl_divergences,
    line_search,
)
from trpo.training import Training

CPU = torch.device("cpu")


def chance(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_kl_divergence_of_two_hand_worked_distributions():
    old = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()
    new = torch.tensor([[0.25, 0.75], [0.9, 0.1]]).log()
    expected = 0.5 * np.log(2.0) + 0.5 * np.log(2.0 / 3.0)
    np.testing.assert_allclose(kl_divergences(old, new), [expected, 0.0], atol=1e-7)


def test_conjugate_gradients_solve_what_numpy_solves():
    root = chance(12, 12)
    matrix = root @ root.T + 0.1 * torch.eye(12, dtype=torch.float64)
    target = chance(12, seed=1)
    found = conjugate_gradients(lambda v: matrix @ v, target, steps=100)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, target), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("encoder", "parts"),
    [
        ("nature", "shifted,attention"),
        ("data-efficient", ""),
        ("impala", "pool-first,separable"),
        ("impala", "spectral-norm"),
        ("mobilenet", ""),
        ("xresnet", "attention,group-norm,squeeze-excite"),
    ],
)
def test_the_product_is_the_second_derivative_of_the_kl_divergence_in_every_net(encoder, parts):
    """Source: Pearlmutter 1994, twice backwards."""
    torch.manual_seed(0)
    kind = {"encoder": encoder, "encoder_parts": parts, "pool": "pool-first" in parts}
    config = replaced(QUICK, image_height=64, image_width=64, **kind)
    policy = LogPolicy(make_net(config))
    obs = torch.randint(256, (5, config.env.spec().observation_shape[0], 64, 64)).byte()
    parameters = list(policy.parameters())
    vector = chance(sum(weights.numel() for weights in parameters)).float()
    log_probs = policy(obs)
    kl = kl_divergences(log_probs.detach(), log_probs).mean()
    slope = flat(torch.autograd.grad(kl, parameters, create_graph=True))
    expected = flat(torch.autograd.grad(slope @ vector, parameters))
    found = fisher_vector_product(policy, obs, vector)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ([(1.0, 0.009)], (1.0, 1.0, 0.009)),
        ([(1.0, 0.02), (0.5, 0.01)], (0.8, 0.5, 0.01)),  # the bound itself is kept
        ([(-0.1, 0.005), (0.0, 0.004), (0.1, 0.001)], (SHRINK**2, 0.1, 0.001)),
        ([(1.0, 0.02)] * TRIES, (0.0, 0.0, 0.0)),
        ([(float("nan"), 0.001), (0.2, float("nan")), (0.1, 0.001)], (SHRINK**2, 0.1, 0.001)),
    ],
    ids=["whole", "too far", "worse", "none", "nan"],
)
def test_line_search_takes_the_longest_step_that_improves_within_the_bound(judged, expected):
    tried = []

    def judge(share):
        tried.append(share)
        return judged[len(tried) - 1]

    assert line_search(judge, max_kl=0.01) == expected
    assert tried == [SHRINK**number for number in range(len(judged))]


def filled(corridor, **settings):
    """Training with a rollout of the corridor, and its batch with advantages of chance."""
    training = Training(replaced(QUICK, **settings), 2)
    envs = corridor(2)
    training.collector.play(envs, envs.reset()[0])
    rollout = training.collector.rollout
    drawn = np.random.default_rng(0).normal(size=(rollout.steps, 2)).astype(np.float32)
    return training, rollout.batch(drawn)


def all_log_probs(net, batch):
    with torch.no_grad():
        return net.logits(batch.obs.permute(0, 3, 1, 2)).log_softmax(1)


def dealt(training):
    return training.collector.minibatches(1, count=training.config.minibatches)


def test_a_natural_step_keeps_to_the_bound_and_improves_the_surrogate(corridor):
    bound = 1e-3
    training, batch = filled(corridor, max_kl=bound, damping=1e-4)  # else that bounds a first step
    net, advantages = training.agent.net, batch.advantages
    old = all_log_probs(net, batch)
    metrics = training.learner.update(batch, dealt(training))
    new = all_log_probs(net, batch)
    kl = float(kl_divergences(old, new).mean())
    assert kl <= bound
    assert kl == pytest.approx(metrics["step_share"] ** 2 * bound, rel=0.1)
    assert metrics["kl"] == pytest.approx(kl, rel=1e-3)
    ratio = (new - old).gather(1, batch.actions[:, None]).squeeze(1).exp()
    centred = (advantages - advantages.mean()) / advantages.std(correction=0)
    assert metrics["improvement"] == pytest.approx(float((ratio * centred).mean()), abs=1e-4)
    assert metrics["improvement"] > 0.0 and metrics["step_share"] > 0.0


def test_where_nothing_may_move_the_policy_stays(corridor, monkeypatch):
    training, batch = filled(corridor)
    net = training.agent.net
    old = all_log_probs(net, batch)
    monkeypatch.setattr(Learner, "surrogate_and_kl", lambda *_: (-1.0, 0.0))
    metrics = training.learner.update(batch, dealt(training))
    assert torch.equal(old, all_log_probs(net, batch))
    assert metrics["step_share"] == 0.0 and metrics["value_loss"] > 0.0


@pytest.mark.parametrize("update", ["natural", "penalty"])
def test_microbatches_of_any_size_make_the_same_update(corridor, update, monkeypatch):
    after = []
    for rows in (512, 7):
        monkeypatch.setattr(trpo.learner, "MICROBATCH", rows)
        training, batch = filled(corridor, update=update, damping=1.0)
        training.learner.update(batch, dealt(training))
        after.append(all_log_probs(training.agent.net, batch))
    torch.testing.assert_close(after[0], after[1], rtol=0.0, atol=2e-4)


def test_the_penalised_step_follows_the_gradient_of_the_course(corridor):
    """A step of Adam on -mean(ratio A) + beta KL, taken by hand."""
    settings = {"update": "penalty", "penalty": 3.0, "critic": "untrained", "minibatches": 1}
    training, batch = filled(corridor, **settings, epochs=2)
    config = training.config
    twin = make_net(config)
    twin.load_state_dict(training.agent.net.state_dict())
    adam = torch.optim.Adam(
        LogPolicy(twin).parameters(), lr=config.learning_rate, eps=config.adam_epsilon
    )
    advantages = batch.advantages
    centred = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
    old = all_log_probs(twin, batch)
    for _ in range(2):
        new = twin.logits(batch.obs.permute(0, 3, 1, 2)).log_softmax(1)
        logp = new.gather(1, batch.actions[:, None]).squeeze(1)
        kl = (old.exp() * (old - new)).sum(1).mean()
        loss = -((logp - batch.logp).exp() * centred).mean() + 3.0 * kl
        adam.zero_grad()
        loss.backward()
        adam.step()
    training.learner.update(batch, [dealt(training)[0], dealt(training)[0]])
    expected, found = all_log_probs(twin, batch), all_log_probs(training.agent.net, batch)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-4)
    assert not torch.allclose(found, old, atol=1e-3)


def test_gradients_of_policy_and_value_net_are_clipped_apart(corridor):
    training, batch = filled(corridor, update="penalty", critic="apart", gradient_norm=1e-3)
    training.learner.update(batch, dealt(training))
    net = training.agent.net
    for parameters in (LogPolicy(net).parameters(), net.value_parameters()):
        norm = torch.stack([weights.grad.norm() for weights in parameters]).norm()
        assert float(norm) == pytest.approx(1e-3, rel=1e-2)


def test_the_fisher_matrix_of_some_steps_takes_these_of_every_environment(corridor, monkeypatch):
    training, batch = filled(corridor, fisher_every=4)
    seen = []

    def product(policy, obs, vector):
        seen.append(obs.permute(0, 2, 3, 1))
        return fisher_vector_product(policy, obs, vector)

    monkeypatch.setattr(trpo.learner, "fisher_vector_product", product)
    training.learner.natural_step(batch, all_log_probs(training.agent.net, batch))
    for obs in seen:
        torch.testing.assert_close(obs, batch.obs[[0, 1, 8, 9, 16, 17, 24, 25]])


@pytest.mark.parametrize("damping", [1e-3, 1.0])
def test_a_whole_step_reaches_the_bound_by_the_damped_fisher_matrix(corridor, damping):
    training, batch = filled(corridor, max_kl=1e-3, damping=damping)
    learner, obs = training.learner, batch.obs.permute(0, 3, 1, 2)
    with torch.no_grad():
        training.agent.net.policy.weight.normal_()  # else the matrix is nearly 0
    before, old = flat(learner.policy).detach(), all_log_probs(training.agent.net, batch)
    logp = old.gather(1, batch.actions[:, None]).squeeze(1)
    twin = LogPolicy(make_net(training.config))
    twin.load_state_dict(learner.log_policy.state_dict())
    share = learner.natural_step(replace(batch, logp=logp), old)["step_share"]
    step = (flat(learner.policy).detach() - before) / share
    fisher = step @ fisher_vector_product(twin, obs, step)
    assert float(fisher + damping * step @ step) == pytest.approx(2e-3, rel=1e-2)


def test_the_critic_is_fitted_to_the_returns(corridor, monkeypatch):
    """A step of Adam on half the mean squared error, taken by hand."""
    monkeypatch.setattr(trpo.learner, "MICROBATCH", 7)
    adam = {"minibatches": 1, "learning_rate": 0.1, "adam_epsilon": 0.5}
    training, batch = filled(corridor, **adam)
    net, obs = training.agent.net, batch.obs.permute(0, 3, 1, 2)
    weights = net.value_parameters()
    before = [one.detach().clone() for one in weights]
    loss = 0.5 * (net.values(obs) - batch.returns).square().mean()
    gradients = torch.autograd.grad(loss, weights)
    metrics = training.learner.update(batch, dealt(training))
    assert metrics["value_loss"] == pytest.approx(loss.item(), rel=1e-4)
    for was, gradient, now in zip(before, gradients, weights, strict=True):
        step = 0.1 * gradient / (gradient.abs() + 0.5)
        torch.testing.assert_close(was - now.detach(), step, rtol=1e-3, atol=1e-6)
