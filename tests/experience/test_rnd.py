import numpy as np
import pytest
import torch

import retro_agents.experience.rnd
from retro_agents.experience.rnd import RND, features_net
from retro_agents.ground.errors import UserError
from retro_agents.run.distributed import Group

CPU = torch.device("cpu")


def make(seed=0, kind="burda"):
    torch.manual_seed(seed)
    return RND((36, 36, 1), 2, gamma=0.9, learning_rate=1e-3, device=CPU, group=Group(), kind=kind)


def images(seed, steps=32):
    """Frames of the seed's pattern, with a little noise."""
    rng = np.random.default_rng(seed)
    pattern = rng.integers(256, size=(36, 36, 1))
    noise = rng.integers(-3, 4, size=(steps, 2, 36, 36, 1))
    return torch.from_numpy((pattern + noise).clip(0, 255).astype(np.uint8))


def halves(seed):
    """The rows of 32 steps of two environments in two minibatches, as many of each in both."""
    steps = np.random.default_rng(seed).permutation(32)
    return np.split(2 * steps[:, None] + np.arange(2), 2)


def test_what_was_often_seen_is_predicted_better_than_the_new():
    rnd = make()
    both = torch.cat([images(1), images(2)])
    rnd.look_at(both.flatten(0, 1))
    for epoch in range(30):
        rnd.learn(images(1), halves(epoch))
    with torch.no_grad():
        known, new = (rnd.errors(images(s).flatten(0, 1)).mean() for s in (1, 2))
    assert new > 3 * known


def test_bonus_is_the_error_over_the_deviation_of_its_discounted_sum():
    rnd, frames = make(), images(1)
    ended = np.random.default_rng(2).random((32, 2)) < 0.1
    bonus = rnd.bonus(frames, ended)
    with torch.no_grad():
        errors = rnd.errors(frames.flatten(0, 1)).view(32, 2).numpy()
    sums, total = [], np.zeros(2)
    for row in errors:
        total = 0.9 * total + row
        sums.append(total)
    np.testing.assert_allclose(bonus, errors / np.std(sums) * ~ended, rtol=1e-4)
    assert ended.any()


def test_a_bonus_without_episodes_is_earned_by_their_last_steps_too():
    ended = np.ones((32, 2), bool)
    assert not make().bonus(images(1), ended).any()
    endless = RND((36, 36, 1), 2, gamma=0.9, device=CPU, group=Group(), episodic=False)
    assert endless.bonus(images(1), ended).all()
    assert endless.optimiser.param_groups[0]["lr"] == 1e-4


def test_impala_nets_have_the_entrys_weights_and_a_bonus_that_is_cut_off(monkeypatch):
    """Uniform in ± sqrt(6 / (inputs + outputs)), biases 0: they set the size of the bonus."""
    net = make(kind="impala").nets["target"]
    last = net[1]
    limit = (6 / (last.in_features + last.out_features)) ** 0.5
    assert 0.95 * limit < last.weight.abs().max() <= limit and not last.bias.any()
    rnd, frames = make(kind="impala"), torch.cat([images(1, steps=2), images(2, steps=2)])
    ended = np.zeros((4, 2), bool)
    ended[1, 0] = True
    pixels, made = (frames.flatten(0, 1).permute(0, 3, 1, 2).float() - 128) / 255, []
    with torch.no_grad():
        for net in rnd.nets.values():
            first, *others = net[0].convolutions
            x = first._conv_forward(pixels, first.weight, first.bias)
            made.append(net[1:](torch.nn.Sequential(*others)(x)))
        errors = (made[0] - made[1]).square().mean(dim=1).view(4, 2).numpy()
    limit = float(np.median(errors))
    monkeypatch.setattr(retro_agents.experience.rnd, "LIMIT", limit)
    want = np.minimum(errors, limit) * ~ended
    np.testing.assert_allclose(rnd.bonus(frames, ended), want, rtol=1e-3)
    assert 2 <= (errors > limit).sum() <= 6


def test_pixels_are_normalised_by_their_own_moments_and_too_few_refused():
    rnd = make()
    frames = torch.cat([images(1), images(2)])
    for part in frames.split(16):
        rnd.look_at(part.flatten(0, 1))
    count, total, squares = rnd.moments
    flat = frames.flatten(0, 1).double()
    assert count.unique().tolist() == [len(flat)]
    torch.testing.assert_close(total / count, flat.mean(dim=0))
    torch.testing.assert_close(squares / count - (total / count) ** 2, flat.var(0, correction=0))
    assert features_net((36, 20, 1), deep=True)[-1].out_features == 128
    with pytest.raises(UserError, match="images of 36x16 pixels are too small for random network"):
        features_net((36, 16, 1), deep=False)


def test_pixels_that_hardly_change_are_not_blown_up_and_strange_ones_are_cut_off():
    rnd, flat = make(), torch.nn.Flatten()
    nothing = torch.nn.Sequential(flat, torch.nn.Threshold(1e9, 0.0))
    rnd.nets["predictor"], rnd.nets["target"] = flat, nothing  # the error is the pixels' square
    rnd.look_at(torch.full((9, 36, 36, 1), 100, dtype=torch.uint8))
    shown = torch.tensor([97, 103, 140], dtype=torch.uint8)[:, None, None, None]
    assert rnd.errors(shown.expand(-1, 36, 36, 1)).tolist() == [9.0, 9.0, 25.0]


def test_every_minibatch_has_a_gradient_of_its_own(monkeypatch):
    rnd, gradients = make(), []
    rnd.look_at(images(1).flatten(0, 1))
    monkeypatch.setattr(rnd.optimiser, "step", lambda: None)
    for _ in range(2):
        rnd.learn(images(1), halves(0)[:1])
        gradients.append([weights.grad.clone() for weights in rnd.parameters])
    torch.testing.assert_close(*gradients)


def test_predictor_learns_from_a_quarter_of_the_steps_of_each_environment(monkeypatch):
    rnd, frames = make(), torch.zeros(32, 2, 36, 36, 1, dtype=torch.uint8)
    frames += torch.arange(64, dtype=torch.uint8).view(32, 2, 1, 1, 1)  # a number for each
    rnd.look_at(frames.flatten(0, 1))
    seen, errors = [], rnd.errors
    monkeypatch.setattr(rnd, "errors", lambda x: seen.extend(x[:, 0, 0, 0].tolist()) or errors(x))
    rnd.learn(frames, halves(0))
    assert len(set(seen)) == 16 and sum(row % 2 for row in seen) == 8
