import numpy as np
import pytest
import torch

from ppo2.imitation import Imitation, self_imitation
from ppo2.training import Training
from retro_agents.experience.rollouts import Rollout
from tests.agents.tiny import tiny

GAMMA, STEPS = 0.9, 6
FLAGS = "--self-imitation 1 --rollout-steps 6 --minibatches 2"


def memory(size):
    flags = [*FLAGS.split(), "--self-imitation-size", size, "--gamma", GAMMA]
    return Imitation(tiny("ppo2", *flags), 2)


def rollouts(count):
    """Rollouts of two environments; step number k, over all rollouts, shows frames of k."""
    rng = np.random.default_rng(0)
    made = Rollout(STEPS, 2, image=(4, 36, 36), device=torch.device("cpu"))
    for start in range(0, count * STEPS, STEPS):
        made.obs[:] = (torch.arange(start, start + STEPS) % 256)[:, None, None, None, None]
        made.actions[:] = torch.from_numpy(rng.integers(7, size=(STEPS, 2)))
        made.values[:] = torch.from_numpy(rng.normal(size=(STEPS, 2)).astype(np.float32))
        made.rewards[:] = rng.normal(size=(STEPS, 2))
        made.ended[:] = rng.random((STEPS, 2)) < 0.15
        made.terminated[:] = made.ended & (rng.random((STEPS, 2)) < 0.5)
        yield made


def remembering(*flags, scale=1.0):
    """Training of two environments that remembers four rollouts."""
    training = Training(tiny("ppo2", *FLAGS.split(), *flags), 2)
    for rollout in rollouts(4):
        training.imitation.remember(rollout, scale=scale)
    return training


def test_steps_of_ended_episodes_are_held_with_their_returns_and_gains():
    held, seen = memory(10_000), []
    for rollout in rollouts(20):
        held.remember(rollout, scale=2.0)
        parts = rollout.obs[:, :, 0, 0, 0], rollout.actions, rollout.values, rollout.rewards
        seen.append(np.stack([*map(np.asarray, parts), rollout.ended], axis=2).copy())
    expected = []
    for rows in np.concatenate(seen).swapaxes(0, 1):
        ends = np.flatnonzero(rows[:, -1])
        for k in range(ends[-1] + 1):
            episode = rows[k : ends[ends >= k][0] + 1, 3]
            sum_ = sum(GAMMA**n * reward for n, reward in enumerate(episode))
            priority = (max(sum_ / 2.0 - rows[k, 2], 0.0) + 1e-5) ** 0.6
            expected.append((*rows[k, :3], sum_, priority))
    where = np.flatnonzero(held.tree.leaves)
    fields = held.frames[:, 0, 0, 0], held.actions, held.values, held.returns, held.tree.leaves
    found = np.stack([field[where] for field in fields], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_an_episode_longer_than_the_memory_leaves_its_newest_steps():
    held = memory(60)
    for rollout in rollouts(9):
        rollout.ended[:], rollout.terminated[:] = False, False
        held.remember(rollout, scale=1.0)
        assert held.draw(1) is None
    rollout.ended[-1], rollout.rewards[:] = True, 1.0
    held.remember(rollout, scale=1.0)
    where = np.flatnonzero(held.tree.leaves)
    assert len(where) == 2 * held.longest and held.longest < 30
    batch, returns = held.draw(200)
    oldest = batch.indices[returns.argmax()]
    assert (held._stack(np.array([oldest]))[0, :, 0, 0] > 0).all()
    np.testing.assert_array_equal(returns, held.returns[batch.indices])


def test_rewards_are_cut_where_those_that_values_learn_are():
    training = Training(tiny("ppo2", "--self-imitation", 1, "--rollout-steps", 200), 2)
    collector = training.collector
    rollout = collector.rollout
    rollout.rewards[-1], rollout.ended[-1], rollout.terminated[-1] = 5.0, True, True
    scaled = collector.rewards(scaled=True)
    assert scaled.max() == 10.0 < 5.0 / collector.return_scale.deviation
    training.imitate()
    largest = training.imitation.returns.max() / collector.return_scale.deviation
    np.testing.assert_allclose(largest, scaled.max(), rtol=1e-5)


def test_a_minibatch_may_have_fewer_steps_than_there_are_threads():
    training = remembering("--torch-threads", "5", "--microbatches", "2")
    batch, returns = training.imitation.draw(3)
    assert (training.learner.imitate(batch, returns + np.float32(9.0)) > 0.0).all()


def test_a_short_run_asks_for_the_memory_of_its_own_steps(monkeypatch):
    asked = {}
    monkeypatch.setattr(
        "retro_agents.ground.device.check_memory",
        lambda size, what, **_: asked.update({what: size}),
    )
    for steps in (100, 1000):
        Training(tiny("ppo2", "--self-imitation", 1, "--timesteps", steps), 2)
        asked[steps] = asked.pop("a memory of 200,000 steps")
    assert asked[1000] == 10 * asked[100]


def test_losses_are_those_of_the_paper():
    logp = torch.tensor([-1.0, -2.0, -3.0], requires_grad=True)
    values = torch.tensor([0.5, 0.0, 3.0], requires_grad=True)
    returns = torch.tensor([1.0, 4.0, 2.0])
    losses, gains = self_imitation(logp, values, returns)
    assert gains.tolist() == [0.5, 4.0, 0.0]
    np.testing.assert_allclose(losses.tolist(), [0.5 + 0.00125, 2.0 + 0.08, 0.0])
    losses.sum().backward()
    assert logp.grad.tolist() == [-0.5, -1.0, 0.0]
    np.testing.assert_allclose(values.grad.tolist(), [-0.005, -0.04, 0.0], rtol=1e-5)


@pytest.mark.parametrize("flags", ["", "--noisy", "--rnd 0.1 --rnd-values two"])
def test_only_actions_that_returned_more_than_expected_are_learned(flags):
    training = remembering("--learning-rate", "1e-3", *flags.split())
    batch, _ = training.imitation.draw(32)

    def chances():
        with torch.no_grad():
            scores = training.agent.scores(torch.from_numpy(batch.obs)).log_softmax(1)
        return scores[np.arange(32), batch.actions].numpy()

    before = chances()
    gains = training.learner.imitate(batch, np.full(32, -9.0, np.float32))
    assert not gains.any() and np.array_equal(chances(), before)
    training.learner.imitate(batch, np.full(32, 9.0, np.float32))
    assert (batch.weights * (chances() - before)).sum() > 0.0


@pytest.mark.parametrize("flags", ["", "--torch-threads 2 --microbatches 2"])
def test_a_step_goes_against_the_gradient_of_the_weighted_mean_loss(flags):
    adam = "--learning-rate 0.1 --adam-epsilon 0.5 --gradient-norm 0 --convolution-l2 0.1"
    training = remembering(*f"--self-imitation 0.7 {adam} {flags}".split())
    batch, _ = training.imitation.draw(12)
    net, returns = training.agent.net, np.linspace(-1.0, 3.0, 12, dtype=np.float32)
    before = [weights.detach().clone() for weights in net.parameters()]
    starts = torch.zeros(12, dtype=torch.bool)
    logits, values, _ = net(torch.from_numpy(batch.obs), state=torch.zeros(12, 0), starts=starts)
    logp, loss = logits.log_softmax(1), torch.zeros(())
    gains = (torch.from_numpy(returns) - values).clamp(min=0.0)
    known, weights = gains.tolist(), batch.weights.tolist()
    assert min(weights) < 0.9 and min(known) == 0.0 and max(known) > 1.0
    for row, action in enumerate(batch.actions):
        own = -logp[row, action] * min(known[row], 1.0) + 0.01 * gains[row] ** 2 / 2
        loss = loss + 0.7 * weights[row] * own / 12
    kernels = [m.weight for m in net.encoder.modules() if isinstance(m, torch.nn.Conv2d)]
    loss = loss + 0.1 * sum((kernel**2).sum() for kernel in kernels)
    gradients = torch.autograd.grad(loss, list(net.parameters()))
    found = training.learner.imitate(batch, returns)
    np.testing.assert_allclose(found, known, rtol=1e-4, atol=1e-6)
    for was, gradient, now in zip(before, gradients, net.parameters(), strict=True):
        step = 0.1 * gradient / (gradient.abs() + 0.5)  # Adam's first
        np.testing.assert_allclose(was - now.detach(), step, rtol=1e-3, atol=1e-6)


def test_steps_are_learned_in_the_scale_of_the_values_and_drawn_by_their_new_gains(monkeypatch):
    training, told = remembering("--epochs", 1, scale=2.0), []
    held = training.imitation
    training.collector.return_scale.moments[:] = 10.0, 0.0, 40.0  # a deviation of 2

    def imitate(batch, returns):
        np.testing.assert_allclose(returns, held.returns[batch.indices] / 2.0, rtol=1e-6)
        drawn = held.tree.leaves[batch.indices]
        np.testing.assert_allclose(batch.weights, (drawn / drawn.min()) ** -0.1, rtol=1e-5)
        told.append(batch.indices)
        return np.full(len(returns), float(len(told)), np.float32)

    monkeypatch.setattr(held, "remember", lambda *_, **__: None)
    monkeypatch.setattr(training.learner, "imitate", imitate)
    assert training.imitate() == {"imitation_gain": 2.5}  # of 1, 2, 3 and 4
    assert [len(indices) for indices in told] == [6] * 4
    wanted = {index: gain for gain, rows in enumerate(told, 1) for index in rows.tolist()}
    priorities = held.tree.leaves[[*wanted]]
    np.testing.assert_allclose(priorities, (np.array([*wanted.values()]) + 1e-5) ** 0.6)
