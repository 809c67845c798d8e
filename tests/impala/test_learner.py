import numpy as np
import pytest
import torch

from impala.learner import Learner
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.config import replaced
from tests.agents.tiny import tiny
from tests.impala.made import sequences

FLAGS = "--rollout-steps 5 --batch-size 20 --gradient-norm 0 --learning-rate-schedule constant"
TINY = tiny("impala", *FLAGS.split())
RECURRENT = {"recurrent": "lstm", "recurrent_hidden": 8}
CPU = torch.device("cpu")


def made(config):
    """A net and a batch for it."""
    torch.manual_seed(0)
    net = make_actor_critic(config)
    state = 0 if net.core is None else net.core.state_size
    return net, sequences(4, image=(36, 36, 4), state=state)


def learned(config, *, threads=1):
    net, batch = made(config)
    metrics = Learner(net, config, device=CPU, threads=threads).update(batch, part=0.0)
    return net, metrics


def slow_loss(net, batch, config):
    """The README's loss, sequence by sequence and step by step."""
    steps, count = batch.actions.shape
    images, cut = (torch.from_numpy(a).movedim(-1, -3) for a in (batch.obs, batch.cut_obs))
    cuts = {tuple(at): number for number, at in enumerate(batch.cut_at.tolist())}
    total = torch.zeros(())
    for n in range(count):
        state, states, logits, values = torch.from_numpy(batch.states[n : n + 1]), [], [], []
        for t in range(steps + 1):
            begins = torch.tensor([bool(batch.starts[t, n])])
            out, value, state = net(images[t, n : n + 1], state=state, starts=begins)
            logits.append(out[0])
            values.append(value[0])
            states.append(state)  # of the net that learns, not of the one that acted
        logp = [logits[t].log_softmax(0)[batch.actions[t, n]] for t in range(steps)]
        ratio = [float((logp[t].detach() - batch.logp[t, n]).exp()) for t in range(steps)]
        known = [float(value.detach()) for value in values]
        goes_on = [t + 1 < steps and not batch.ended[t, n] for t in range(steps)]
        reached = known[1:]
        for t in range(steps):
            if batch.terminated[t, n]:
                reached[t] = 0.0
            elif (t, n) in cuts:
                at = cuts[t, n]
                last = net(cut[at : at + 1], state=states[t], starts=torch.tensor([False]))
                reached[t] = float(last[1].detach())
        v = known.copy()
        for t in reversed(range(steps)):
            rho, c = min(config.rho_bar, ratio[t]), min(config.c_bar, ratio[t])
            v[t] += rho * (batch.rewards[t, n] + config.gamma * reached[t] - known[t])
            if goes_on[t]:
                v[t] += config.gamma * c * (v[t + 1] - known[t + 1])
        for t in range(steps):
            then = v[t + 1] if goes_on[t] else reached[t]
            gain = batch.rewards[t, n] + config.gamma * then - known[t]
            p = logits[t].softmax(0)
            total = total - min(config.rho_bar, ratio[t]) * gain * logp[t]
            total = total + config.value_weight * 0.5 * (v[t] - values[t]) ** 2
            total = total + config.entropy_weight * (p * p.log()).sum()
    return total


RMSPROP = {"optimiser": "rmsprop", "rmsprop_decay": 0.9}


@pytest.mark.parametrize(
    "flags", [{}, RECURRENT, {"rho_bar": 1.5, "c_bar": 0.7, "gamma": 0.9}, RMSPROP]
)
def test_a_step_goes_against_the_gradient_of_the_readmes_loss(flags):
    terms = {"value_weight": 0.7, "entropy_weight": 0.3, "microbatches": 2}
    adam = {"optimiser": "adam", "learning_rate": 0.1, "optimiser_epsilon": 0.5}
    config = replaced(TINY, **terms | adam | flags)
    before, batch = made(config)
    assert len(batch.cut_at) and batch.terminated.any()
    gradients = torch.autograd.grad(slow_loss(before, batch, config), list(before.parameters()))
    after, _ = learned(config)
    for was, gradient, now in zip(before.parameters(), gradients, after.parameters(), strict=True):
        square = gradient.square() * (0.1 if flags is RMSPROP else 1.0)  # of the first step
        step = 0.1 * gradient / (square.sqrt() + 0.5)
        np.testing.assert_allclose((was - now).detach(), step, rtol=2e-3, atol=1e-5)


def test_the_kl_divergence_is_from_the_policy_that_acted():
    """Schulman's estimate, which is never negative: ratio − 1 − log ratio."""
    net, batch = made(TINY)
    images = torch.from_numpy(batch.obs).movedim(-1, -3)
    steps, count = batch.actions.shape
    known, found = {"state": torch.zeros(count, 0), "starts": torch.ones(count, dtype=bool)}, []
    with torch.no_grad():
        for t in range(steps):
            logp = net(images[t], **known)[0].log_softmax(1)[range(count), batch.actions[t]].numpy()
            found.append(np.expm1(logp - batch.logp[t]) - (logp - batch.logp[t]))
    assert learned(TINY)[1]["kl"] == pytest.approx(float(np.mean(found)), rel=1e-4)


def assert_same_weights(one, other, **tolerance):
    for left, right in zip(one.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(left.detach(), right.detach(), **tolerance)


@pytest.mark.parametrize("flags", [{}, RECURRENT])
def test_pieces_and_threads_make_the_same_step(flags):
    config = replaced(TINY, optimiser_epsilon=1.0, **flags)
    whole, metrics = learned(config)
    for pieces, threads in ((3, 1), (1, 2), (9, 2)):
        parts, same = learned(replaced(config, microbatches=pieces), threads=threads)
        assert_same_weights(whole, parts, rtol=1e-3, atol=1e-6)
        assert same == pytest.approx(metrics, rel=1e-3)


def test_each_epoch_is_a_step_and_asks_v_trace_anew():
    config = replaced(TINY, learning_rate=1e-3)
    net, batch = made(config)
    learner = Learner(net, config, device=CPU)
    for _ in range(3):
        learner.update(batch, part=0.0)
    assert_same_weights(net, learned(replaced(config, epochs=3))[0], rtol=0, atol=0)


def test_changed_images_are_learned_from_but_for_those_that_only_their_values_are_asked_of(
    monkeypatch,
):
    config, seen = replaced(TINY, augment="roll", augment_share=1.0), []
    real = Learner.losses
    monkeypatch.setattr(Learner, "losses", lambda self, part: seen.append(part) or real(self, part))
    learned(config)
    _, batch = made(config)
    assert np.array_equal(seen[0].obs[-1], batch.obs[-1])
    for changed, plain in zip(seen[0].obs[:-1], batch.obs[:-1], strict=True):
        assert not np.array_equal(changed, plain)
        np.testing.assert_array_equal(np.sort(changed, axis=None), np.sort(plain, axis=None))
    np.testing.assert_array_equal(seen[0].cut_obs, batch.cut_obs)


def test_gradients_are_clipped_to_the_norm():
    config = replaced(TINY, gradient_norm=1e-9, optimiser_epsilon=1.0)
    net, metrics = learned(config)
    assert metrics["gradient_norm"] > 1e-3  # as it was before
    assert_same_weights(net, made(config)[0], rtol=0, atol=1e-7)


def test_bf16_learns_nearly_the_same_and_not_quite():
    _, exact = learned(TINY)
    _, rounded = learned(replaced(TINY, precision="bf16"))
    assert rounded["value_loss"] == pytest.approx(exact["value_loss"], rel=0.05)
    assert rounded["value_loss"] != pytest.approx(exact["value_loss"], rel=1e-5)
