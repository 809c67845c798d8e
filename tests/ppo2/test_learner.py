import dataclasses
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from ppo2.learner import Learner, adapted
from retro_agents.experience.augmentation import Augmentation
from retro_agents.experience.rollouts import Batch, minibatches
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.nets.encoders import Encoder
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group
from tests.agents.tiny import tiny

TINY = tiny("ppo2", "--rollout-steps", 8)
CPU = torch.device("cpu")


def seen(net, mb):
    """What a net makes of a minibatch."""
    images = mb.obs.permute(0, 3, 1, 2)
    return net(images, state=mb.states, starts=mb.starts, steps=mb.steps)


def make_batch(config):
    """A rollout of four environments as the net would have played it, with advantages of chance."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    net = make_actor_critic(config)
    rows = config.rollout_steps * 4
    obs = torch.from_numpy(rng.integers(256, size=(rows, 36, 36, 4), dtype=np.uint8))
    state_size = 0 if net.core is None else net.core.state_size
    batch = Batch(
        obs=obs,
        states=torch.zeros(rows, state_size),
        starts=torch.zeros(rows, dtype=torch.bool),
        actions=torch.from_numpy(rng.integers(7, size=rows)),
        logp=torch.zeros(rows),
        values=torch.zeros(rows),
        advantages=torch.from_numpy(rng.normal(size=rows).astype(np.float32)),
        returns=torch.from_numpy(rng.normal(size=rows).astype(np.float32)),
        steps=config.rollout_steps,
    )
    mb = batch.minibatch(torch.arange(rows).view(config.rollout_steps, 4), batch.advantages)
    with torch.no_grad():
        logits, values, _ = seen(net, mb)
    logp = logits.log_softmax(1).gather(1, batch.actions[:, None]).squeeze(1)
    return net, dataclasses.replace(batch, logp=logp, values=values)


def epochs_of(config):
    rngs = [np.random.default_rng(i) for i in range(4)]
    length = config.sequence_steps
    return [
        minibatches(rngs, config.rollout_steps, count=config.minibatches, length=length)
        for _ in range(config.epochs)
    ]


def learned(config, **extra):
    net, batch = make_batch(config)
    batch = dataclasses.replace(batch, **extra)
    learner = Learner(net, config, device=CPU, group=Group())
    metrics = learner.update(batch, epochs_of(config), part=0.5)
    return net, metrics


def assert_same_weights(one, other, **tolerance):
    for (name, left), right in zip(
        one.state_dict().items(), other.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(left, right, err_msg=name, **tolerance)


@pytest.mark.parametrize("flags", [{"microbatches": 3}, {"microbatches": 0}])
def test_microbatches_make_the_same_step(monkeypatch, flags):
    monkeypatch.setattr("ppo2.learner.CACHED_ROWS", 6)  # of 16 in a minibatch
    rows = []
    with register_module_forward_hook(
        lambda module, images, _: (
            rows.append(len(images[0])) if isinstance(module, Encoder) else None
        )
    ):
        whole, _ = learned(TINY)
        at_once, rows = rows, []
        parts, _ = learned(replaced(TINY, **flags))
    del rows[0], at_once[0]  # of the rollout
    assert len(rows) == 3 * len(at_once) and sum(rows) == sum(at_once)
    assert_same_weights(whole, parts, rtol=1e-3, atol=2e-6)


def test_gradients_are_clipped_to_the_norm():
    config = replaced(TINY, gradient_norm=1e-12, adam_epsilon=1.0, epochs=1)
    net, metrics = learned(config)
    untouched, _ = make_batch(config)
    assert metrics["gradient_norm"] > 1e-3  # as it was before
    assert_same_weights(net, untouched, rtol=0, atol=1e-8)


def slow_loss(net, batch, config, *, clip):
    """The README's loss of a whole rollout, row by row."""
    rows = torch.arange(len(batch.actions))[None]
    logits, values, _ = seen(net, batch.minibatch(rows, batch.advantages[None]))
    total = torch.zeros(())
    for row, value in enumerate(values):
        old, target = batch.values[row], batch.returns[row]
        p = logits[row].exp() / logits[row].exp().sum()
        ratio = p[batch.actions[row]] / batch.logp[row].exp()
        gain = ratio * batch.advantages[row]
        clipped = ratio.clamp(1 - clip, 1 + clip) * batch.advantages[row]
        error = (value - target) ** 2
        if config.value_clip:
            reach = clip if config.value_clip_range is None else config.value_clip_range
            moved = old + (value - old).clamp(-reach, reach)
            error = torch.max(error, (moved - target) ** 2)
        total = total - torch.min(gain, clipped) + config.value_weight * error / 2
        total = total + config.entropy_weight * (p * p.log()).sum()
        total = total + config.kl_penalty * (ratio - 1 - ratio.log())
    kernels = [m.weight for m in net.encoder.modules() if isinstance(m, torch.nn.Conv2d)]
    return total / len(values) + config.convolution_l2 * sum((w**2).sum() for w in kernels)


@pytest.mark.parametrize(
    "extra",
    [
        {"value_clip": True},
        {"value_clip": False},
        {"value_clip_range": 0.45},
        {"kl_penalty": 0.8},
        {"convolution_l2": 0.1},
    ],
    ids=lambda extra: next(iter(extra)),
)
def test_a_step_goes_against_the_gradient_of_the_readmes_loss(extra):
    terms = {"clip": 0.2, "value_weight": 0.7, "entropy_weight": 0.3, **extra}
    adam = {"learning_rate": 0.1, "adam_epsilon": 0.5, "gradient_norm": 0.0}
    config = replaced(TINY, minibatches=1, epochs=1, normalise="never", **terms, **adam)
    before, batch = make_batch(config)
    rng = np.random.default_rng(1)
    moved = torch.from_numpy(rng.normal(0.0, 0.5, (2, 32)).astype(np.float32))  # since the rollout
    old = {"logp": batch.logp + moved[0], "values": batch.values + moved[1]}
    after, _ = learned(config, **old)
    loss = slow_loss(before, dataclasses.replace(batch, **old), config, clip=0.2)
    gradients = torch.autograd.grad(loss, list(before.parameters()))
    for was, gradient, now in zip(before.parameters(), gradients, after.parameters(), strict=True):
        step = 0.1 * gradient / (gradient.abs() + 0.5)  # Adam's first
        np.testing.assert_allclose((was - now).detach(), step, rtol=1e-3, atol=1e-6)


def test_only_convolutions_decay():
    config = replaced(TINY, encoder_parts="frame-attention", convolution_l2=0.1)
    net = make_actor_critic(config)
    kernels = Learner(net, config, device=CPU, group=Group()).kernels
    weights = [w for name, w in net.encoder.named_parameters() if name.endswith(".weight")]
    assert [*map(id, kernels)] == [*map(id, weights)]


def test_kl_penalty_follows_rllibs_rule_and_grows_again_when_it_has_fallen_for_long():
    for kl, factor in ((0.021, 1.5), (0.02, 1.0), (0.005, 1.0), (0.0049, 0.5), (0.0, 0.5)):
        assert adapted(0.2, kl, aim=0.01) == pytest.approx(0.2 * factor)
    weight = torch.tensor(0.2)  # as the learner keeps it
    for kl in 300 * [0.0] + 300 * [1.0]:
        weight.fill_(adapted(float(weight), kl, aim=0.01))
    assert weight > 0.2


def test_kl_penalty_is_adapted_once_per_rollout_by_the_last_epochs_divergence():
    config = replaced(TINY, kl_penalty=0.2, kl_aim=0.01, minibatches=2, epochs=2)
    net, batch = make_batch(config)
    learner, used = Learner(net, config, device=CPU, group=Group()), []
    learner._step = lambda metrics: None
    for kls in ([0.0, 0.0, 0.02, 0.04], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.01, 0.01], [0.0] * 4):
        rows = iter(kls)
        learner._minibatch = lambda *_, rows=rows: {"kl": torch.tensor(next(rows))}
        used.append(learner.update(batch, epochs_of(config), part=0.0)["kl_weight"])
    assert used == pytest.approx([0.2, 0.3, 0.15, 0.15])


@pytest.mark.parametrize("over", ["minibatch", "rollout", "never"])
def test_advantages_are_normalised_over_what_the_config_says(over, monkeypatch):
    config = replaced(TINY, epochs=1, minibatches=2, normalise=over)
    used, real = [], Learner.losses
    monkeypatch.setattr(
        Learner, "losses", lambda self, mb: used.append(mb.advantages) or real(self, mb)
    )
    advantages = torch.arange(32.0) ** 2
    learned(config, advantages=advantages)
    together = torch.cat(used)
    if over == "never":
        assert together.sort().values.tolist() == advantages.tolist()
    for found, normal in ((together, over != "never"), (used[0], over == "minibatch")):
        close = found.mean().abs() < 1e-5 and (found.std(correction=0) - 1.0).abs() < 1e-5
        assert close == normal


def test_bf16_learns_nearly_the_same_and_not_quite():
    _, exact = learned(TINY)
    _, rounded = learned(replaced(TINY, precision="bf16"))
    assert rounded["value_loss"] == pytest.approx(exact["value_loss"], rel=0.05)
    assert rounded["value_loss"] != pytest.approx(exact["value_loss"], rel=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiled_update_equals_the_eager_one(monkeypatch):
    """Captured as a graph; what PyTorch makes of that in C++ is PyTorch's."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    eager, _ = learned(TINY)
    compiled, _ = learned(replaced(TINY, compile=True))
    assert_same_weights(eager, compiled, rtol=1e-3, atol=2e-5)


def numbers(seed=0):
    """A function that draws numbers from 0 to 1 for each row of a batch of `make_batch`."""
    rng = np.random.default_rng(seed)
    return lambda count: torch.from_numpy(rng.random((32, count), np.float32))


@pytest.mark.parametrize("extra", [{}, {"dropout": 0.4, "augment": "roll,jitter"}])
def test_threads_make_the_same_step(extra):
    config, nets = replaced(TINY, **extra), []
    for threads in (1, 3):
        net, batch = make_batch(config)
        learner = Learner(net, config, device=CPU, group=Group(), threads=threads)
        learner.update(batch, epochs_of(config), part=0.5, chance=numbers())
        nets.append(net)
    assert_same_weights(*nets, rtol=1e-3, atol=2e-6)


def test_changed_images_are_learned_from_with_the_log_probability_of_the_plain_ones(monkeypatch):
    config = replaced(TINY, augment="roll", augment_share=0.5, minibatches=1, epochs=2)
    net, batch = make_batch(config)
    seen, real = [], Learner.losses
    monkeypatch.setattr(Learner, "losses", lambda self, mb: seen.append(mb) or real(self, mb))
    rows = [[np.arange(32)[None]]] * 2
    learner = Learner(net, config, device=CPU, group=Group())
    learner.update(batch, rows, part=0.0, chance=numbers())
    chance, plain = numbers(), batch.obs.permute(0, 3, 1, 2)
    for mb in seen:
        want = Augmentation("roll", share=0.5, colours=1)(plain, chance(3))
        assert torch.equal(mb.obs.permute(0, 3, 1, 2), want) and not torch.equal(want, plain)
        assert torch.equal(mb.logp, batch.logp)
    assert not torch.equal(seen[0].obs, seen[1].obs)


def test_dropped_units_count_for_nothing_and_the_others_for_more():
    config = replaced(TINY, dropout=0.25, minibatches=1, epochs=2)
    net, batch = make_batch(config)
    factors, chance = [], numbers()
    net.register_forward_pre_hook(lambda *given: factors.append(given[2]["kept"]), with_kwargs=True)
    learner = Learner(net, config, device=CPU, group=Group())
    learner.update(batch, [[np.arange(32)[None]]] * 2, part=0.0, chance=numbers())
    for found in factors:
        np.testing.assert_allclose(found, (chance(16) >= 0.25) / 0.75)
    images, starts = torch.zeros(1, 4, 36, 36, dtype=torch.uint8), torch.tensor([True])
    state, kept = torch.zeros(1, 0), torch.zeros(1, 16)
    nothing = net(images, state=state, starts=starts, kept=kept)[0]
    torch.testing.assert_close(nothing[0], net.head.policy.bias)


def test_the_policy_does_not_learn_from_actions_that_others_chose():
    config = replaced(TINY, entropy_weight=0.0, value_weight=0.0, normalise="never", epochs=1)
    own = torch.arange(32) % 3 > 0
    worthless = torch.zeros(32)
    _, batch = make_batch(config)
    expected, _ = learned(config, advantages=torch.where(own, batch.advantages, worthless))
    garbage = torch.where(own, batch.logp, torch.full((32,), -9.0))
    found, metrics = learned(config, own=own, logp=garbage)
    assert_same_weights(expected, found, rtol=1e-6, atol=1e-5)
    assert metrics["kl"] < 0.1
