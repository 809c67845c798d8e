import copy
from functools import partial

import numpy as np
import pytest
import torch

from rainbow.agent import make_net
from rainbow.config import RainbowConfig
from rainbow.learner import (
    Learner,
    clipped_share,
    distributional_loss,
    epsilon_ladder,
    linear,
    munchausen_bonus,
    project_distribution,
)
from retro_agents.run.config import replaced
from tests.experience.batches import random_batch

SMALL = replaced(
    RainbowConfig(), image_height=36, image_width=36, hidden=32, atoms=11, v_min=-2.0, v_max=8.0
)
CPU = torch.device("cpu")


def made(seed=0, **settings):
    """A learner with those settings."""
    torch.manual_seed(seed)
    config = replaced(SMALL, **settings)
    return Learner(make_net(config), config, device=CPU)


def slow_projection(probs, returns, discounts, z):
    """Algorithm 1 of arXiv:1707.06887, atom by atom."""
    projected = np.zeros_like(probs)
    spacing = (z[-1] - z[0]) / (len(z) - 1)
    for b in range(len(probs)):
        for j in range(len(z)):
            moved = min(max(returns[b] + discounts[b] * z[j], z[0]), z[-1])
            position = (moved - z[0]) / spacing
            low, high = int(np.floor(position)), int(np.ceil(position))
            if low == high:
                projected[b, low] += probs[b, j]
            else:
                projected[b, low] += probs[b, j] * (high - position)
                projected[b, high] += probs[b, j] * (position - low)
    return projected


@pytest.mark.parametrize("seed", range(5))
def test_projection_matches_the_slow_algorithm(seed):
    rng = np.random.default_rng(seed)
    z = np.linspace(-200, 200, 51)
    probs = rng.dirichlet(np.ones(51), size=8)
    returns = rng.normal(scale=150, size=8)
    discounts = np.where(rng.random(8) < 0.3, 0.0, 0.99**3)
    got = project_distribution(*(torch.tensor(a) for a in (probs, returns, discounts, z)))
    np.testing.assert_allclose(
        got.numpy(), slow_projection(probs, returns, discounts, z), atol=1e-9
    )
    np.testing.assert_allclose(got.numpy().sum(axis=1), 1.0)


def test_the_clipped_share_is_the_probability_outside_the_atoms():
    z, probs = torch.linspace(-1.0, 1.0, 3), torch.tensor([[0.2, 0.3, 0.5]]).expand(6, 3)
    returns = torch.tensor([0.0, 0.75, -3.0, 1.0, 1.25, -1.0])
    share = clipped_share(probs, returns, torch.tensor([0.5, 0.5, 0.5, 0.0, 0.0, 0.0]), z)
    torch.testing.assert_close(share, torch.tensor([0.0, 0.5, 1.0, 0.0, 1.0, 0.0]))


def slow_quantile_loss(outputs, fractions, targets):
    """Eq. 3 of arXiv:1806.06923, pair by pair."""
    loss = 0.0
    for i in range(len(outputs)):
        for target in targets:
            error = target - outputs[i]
            huber = 0.5 * error**2 if abs(error) <= 1 else abs(error) - 0.5
            loss += abs(fractions[i] - (error < 0)) * huber / len(targets)
    return loss


def slow_target(row, following, chooser, config, z):
    """The target [K] of one transition: from the target net's outputs [A,K] of the next state, and
    those [A,K] that choose an action there (with Munchausen: the target net's of this state)."""
    action, reward, discount = row
    temperature = config.munchausen_temperature
    if not config.munchausen:
        probs = [np.exp(o) / np.exp(o).sum() @ z if z is not None else o.mean() for o in chooser]
        return reward + discount * following[int(np.argmax(probs))]
    here = chooser.mean(axis=1)
    log_pi = here - temperature * np.log(np.exp(here / temperature).sum())
    reward += config.munchausen * max(-1.0, min(0.0, log_pi[action]))
    values = following.mean(axis=1)
    log_pi = values - temperature * np.log(np.exp(values / temperature).sum())
    soft = sum(
        np.exp(log_pi[a] / temperature) * (following[a] - log_pi[a]) for a in range(len(values))
    )
    return reward + discount * soft


def slow_losses(learner, batch, chance):
    """The whole loss in NumPy, one transition at a time. chance: noise and fractions of the passes
    in turn."""
    config, obs, following = learner.config, batch.obs, batch.next_obs
    last = (learner.target, obs) if config.munchausen else (learner.net, following)
    passes = [(learner.net, obs), (learner.target, following), last]
    with torch.no_grad():
        online, target, *rest = (
            net(torch.from_numpy(seen), *drawn).numpy().astype(np.float64)
            for (net, seen), drawn in zip(passes, chance, strict=False)
        )
    chooser = rest[0] if rest else target
    z = None
    if config.distributional and not config.quantiles:
        z = np.linspace(config.v_min, config.v_max, config.atoms)
    losses = []
    for b in range(len(batch.actions)):
        outputs = online[b, batch.actions[b]]
        row = batch.actions[b], batch.returns[b], batch.discounts[b]
        if z is None:
            wanted = slow_target(row, target[b], chooser[b], config, z)
            fractions = np.array([0.5]) if chance[0][1] is None else chance[0][1][b].numpy()
            loss = slow_quantile_loss(outputs, fractions, wanted)
            losses.append(loss if config.quantiles else 2 * loss)  # Huber's, where there is one
            continue
        softmax = [np.exp(o) / np.exp(o).sum() for o in chooser[b]]
        best = target[b, int(np.argmax([p @ z for p in softmax]))]
        probs = np.exp(best) / np.exp(best).sum()
        wanted = slow_projection(probs[None], row[1][None], row[2][None], z)[0]
        entropy = -sum(p * np.log(p) for p in wanted if p > 0.0)
        losses.append(-(wanted * (outputs - np.log(np.exp(outputs).sum()))).sum() - entropy)
    return np.array(losses)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"double": False},
        {"distributional": False},
        {"distributional": False, "double": False},
        {"distributional": False, "munchausen": 0.9},
        {"quantiles": 8},
        {"quantiles": 8, "double": False, "dueling": False},
        {"quantiles": 8, "munchausen": 0.9, "streams": "separate"},
        {"quantiles": 3, "munchausen": 0.5, "munchausen_temperature": 0.2},
    ],
    ids=str,
)
def test_losses_match_the_slow_oracle(settings, monkeypatch):
    learner = made(seed=1, **settings)
    for parameter in learner.target.parameters():  # a target that differs from the online net
        parameter.add_(0.05 * torch.randn_like(parameter))
    before = copy.deepcopy(learner)
    noises, fractions = [], []

    def remember(sample, kept):
        def drawn(rows, device):
            kept.append(sample(rows, device))
            return kept[-1]

        return drawn

    for net in (learner.net, learner.target):
        head = net.head
        monkeypatch.setattr(head, "sample_noise", remember(head.sample_noise, noises))
        monkeypatch.setattr(head, "sample_fractions", remember(head.sample_fractions, fractions))
    batch = random_batch()
    losses, _ = learner.update(batch)
    assert len(noises) == (2 if settings.get("double") is False else 3)
    assert not torch.equal(noises[0][0][0], noises[-1][0][0])  # every pass has noise of its own
    if count := learner.config.quantiles:
        assert fractions[0].shape == (6, count)
        assert not torch.equal(fractions[0], fractions[1])
    want = slow_losses(before, batch, [*zip(noises, fractions, strict=True)])
    np.testing.assert_allclose(losses.numpy(), want, rtol=1e-4, atol=1e-4)


def test_what_is_predicted_exactly_has_no_loss_however_uncertain_it_is():
    """Otherwise transitions of uncertain returns would be drawn for ever."""
    z, probs = torch.linspace(0.0, 4.0, 5), torch.tensor([[0.2] * 5, [0.0, 0.0, 1.0, 0.0, 0.0]])
    nothing, once = torch.zeros(2), torch.ones(2)
    logits = (probs + 1e-30).log()
    losses = distributional_loss(logits, probs, nothing, once, z)
    torch.testing.assert_close(losses, nothing, rtol=0.0, atol=1e-6)
    assert (distributional_loss(logits.flip(0), probs, nothing, once, z) > 1.0).all()


def test_priorities_are_the_unweighted_losses():
    results = []
    for weights in (np.ones(6, np.float32), np.full(6, 0.1, np.float32)):
        results.append(made(noisy=False).update(random_batch(weights=weights)))
    assert torch.equal(results[0][0], results[1][0])
    assert results[1][1]["loss"] == pytest.approx(0.1 * results[0][1]["loss"].item(), rel=1e-5)


@pytest.mark.parametrize("settings", [{}, {"quantiles": 8, "munchausen": 0.9}], ids=str)
def test_changed_images_are_learned_from_but_not_those_of_the_targets(settings, monkeypatch):
    learner, seen, shown = made(augment="roll", augment_share=1.0, **settings), [], []
    batch = random_batch()
    learner.target.register_forward_pre_hook(lambda _, given: shown.append(given[0].numpy()))
    monkeypatch.setattr(learner, "_losses", lambda b, o: seen.append(b) or learner.losses(b, o))
    learner.update(batch)
    changed = seen[0].obs.numpy()
    assert not any(np.array_equal(*pair) for pair in zip(changed, batch.obs, strict=True))
    np.testing.assert_array_equal(np.sort(changed, axis=None), np.sort(batch.obs, axis=None))
    own = [batch.next_obs, batch.obs] if settings else [batch.next_obs]
    np.testing.assert_array_equal(shown, own)


def test_gradients_are_clipped_to_the_norm():
    learner = made(gradient_norm=1e-12, adam_epsilon=1.0, learning_rate=1.0)
    before = copy.deepcopy(learner.net)
    _, metrics = learner.update(random_batch())
    assert metrics["gradient_norm"] > 1e-3  # as it was before
    for was, now in zip(before.parameters(), learner.net.parameters(), strict=True):
        torch.testing.assert_close(was, now, rtol=0.0, atol=1e-8)


def test_target_changes_only_when_it_is_copied():
    learner = made()
    before = {k: v.clone() for k, v in learner.target.state_dict().items()}
    learner.update(random_batch())
    assert all(torch.equal(v, learner.target.state_dict()[k]) for k, v in before.items())
    learner.copy_target()
    for key, value in learner.net.state_dict().items():
        assert torch.equal(value, learner.target.state_dict()[key])


def test_bf16_stays_close_to_fp32():
    exact, rounded = (
        made(noisy=False, precision=precision).update(random_batch())[0]
        for precision in ("fp32", "bf16")
    )
    torch.testing.assert_close(exact, rounded, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("has", [True, False], ids=["with bf16", "without"])
def test_auto_is_what_the_net_learns_in(monkeypatch, has):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": has})
    learner = made(precision="auto")
    assert learner.half == has
    dtype = torch.bfloat16 if has else torch.float32
    later = [p for name, p in learner.target.encoder.named_parameters() if "0" not in name]
    assert {p.dtype for p in later} == {dtype}


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "nature"},
        {"encoder": "data-efficient"},
        {"encoder": "impala", "encoder_parts": "max-pool,spectral-norm"},
        {"encoder": "impala", "encoder_parts": "group-norm,weight-standardisation"},
        {"encoder": "impala", "encoder_parts": "batch-norm"},
        {"encoder": "nature", "encoder_parts": "frame-attention"},
        {"encoder": "mobilenet"},
    ],
    ids=str,
)
def test_the_target_net_sees_what_the_online_net_sees(settings):
    """With equal weights, which have learned: in bf16 its pixels' weights were 0.2 % too large."""
    learner = made(precision="bf16", **settings)
    with torch.no_grad():
        for weights in learner.net.encoder.parameters():
            weights += 0.1 * weights.std(correction=0) + 0.01 * torch.randn_like(weights)
    learner.copy_target()
    obs = torch.from_numpy(random_batch().obs)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        assert torch.equal(learner.net.encoder(obs), learner.target.encoder(obs))


@pytest.mark.parametrize("settings", [{"quantiles": 8}, {"distributional": False}], ids=str)
def test_values_are_no_coarser_in_bf16_than_what_the_last_layers_see(settings):
    """As numbers of bf16 they would be a multiple of 0.25 at 40."""
    learner = made(precision="bf16", **settings)
    torch.nn.init.constant_(learner.net.head.value.bias, 40.0)
    learner.copy_target()
    obs = torch.from_numpy(random_batch().obs)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        for outputs in (learner.net(obs), learner.target(obs)):
            assert outputs.dtype == torch.float32
            assert outputs.unique().numel() > outputs.numel() // 2


def test_munchausens_bonus_is_clipped():
    values, actions = torch.tensor([[0.0, 5.0], [0.0, 0.0]]), torch.tensor([0, 1])
    bonus = munchausen_bonus(values, actions, share=0.9, temperature=0.03)
    torch.testing.assert_close(bonus, torch.tensor([-0.9, float(0.027 * np.log(0.5))]))


@pytest.mark.parametrize("settings", [{}, {"quantiles": 8, "munchausen": 0.9}], ids=str)
def test_bf16_gradients_reach_every_parameter(settings):
    learner = made(precision="bf16", **settings)
    learner.update(random_batch())
    for name, parameter in learner.net.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_schedules_and_the_ladder_of_epsilon_are_the_papers():
    assert linear(1.0, 0.0, step=25, steps=100) == 0.75
    assert linear(1.0, 0.2, step=500, steps=100) == pytest.approx(0.2)
    for rows in (2, 24):
        wanted = [0.4 ** (1 + 7 * i / (rows - 1)) for i in range(rows)]
        np.testing.assert_allclose(epsilon_ladder(0.4, rows, exponent=7.0), wanted, rtol=1e-5)
        assert wanted[-1] == pytest.approx(0.4**8)
    # A single environment would always have the highest rate: it has the mean instead.
    mean = 0.4 * (1 - 0.4**7) / (-7 * np.log(0.4))
    assert epsilon_ladder(0.4, 1, exponent=7.0) == pytest.approx([mean], rel=0.05)
    for rows in (1, 2, 24):
        same = np.full(rows, 0.4, np.float32)
        np.testing.assert_array_equal(epsilon_ladder(0.4, rows, exponent=0.0), same)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiled_update_equals_the_eager_one(monkeypatch):
    """Captured as a graph; what PyTorch makes of that in C++ is PyTorch's."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    losses = []
    for compiled in (False, True):
        learner = made(noisy=False, compile=compiled)
        learner.update(random_batch())
        losses.append(learner.update(random_batch(seed=1))[0])
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore:TensorFloat32")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("compiled", [False, True])
def test_update_on_a_gpu_equals_the_one_on_the_cpu(compiled):
    losses = []
    for device, compile_ in ((CPU, False), (torch.device("cuda"), compiled)):
        torch.manual_seed(0)
        config = replaced(SMALL, noisy=False, compile=compile_)
        learner = Learner(make_net(config).to(device), config, device=device)
        for seed in range(4):
            result, metrics = learner.update(random_batch(seed=seed))
        losses.append(result.cpu())
        assert all(np.isfinite(float(value)) for value in metrics.values())
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-2, atol=1e-2)
