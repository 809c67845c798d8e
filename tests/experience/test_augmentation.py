import math

import numpy as np
import pytest
import torch

from retro_agents.experience.augmentation import (
    AUGMENTATIONS,
    Augmentation,
    flip,
    pad_crop,
    roll,
)
from retro_agents.ground.errors import UserError

NAMES = list(AUGMENTATIONS)


def stacks(rows=6, frames=3, colours=3):
    """Every stack shows one frame again and again, uint8 [B,F·C,H,W]."""
    rng = np.random.default_rng(0)
    one = rng.integers(256, size=(rows, 1, colours, 16, 16), dtype=np.uint8)
    return torch.from_numpy(one).expand(-1, frames, -1, -1, -1).flatten(1, 2)


def draws(rows, count):
    return torch.from_numpy(np.random.default_rng(1).random((rows, count), np.float32))


@pytest.mark.parametrize("names", [*NAMES, "flip,rotate,resized-crop,roll", ",".join(NAMES)])
def test_all_frames_of_a_stack_are_changed_alike_or_none_where_no_row_is_drawn(names):
    augmentation, obs = Augmentation(names, share=1.0, colours=3), stacks()
    u = draws(6, augmentation.draws)
    changed = augmentation(obs, u)
    assert changed.shape == obs.shape and changed.dtype == torch.uint8
    frames = changed.unflatten(1, (3, 3))
    assert torch.equal(frames, frames[:, :1].expand_as(frames))
    assert not torch.equal(changed, obs)
    assert torch.equal(Augmentation(names, share=0.0, colours=3)(obs, u), obs)


def test_only_a_share_of_the_rows_is_changed_and_the_given_images_stay():
    augmentation, obs = Augmentation("cutout-colour", share=0.5, colours=1), stacks(200, 4, 1)
    given, u = obs.clone(), draws(200, augmentation.draws)
    rows = (augmentation(obs, u) != obs).flatten(1).any(dim=1)
    assert rows.tolist() == (u[:, 0] < 0.5).tolist() and 60 < rows.sum() < 140
    assert torch.equal(given, obs)


def test_rows_and_changes_have_draws_and_chances_of_their_own():
    augmentation = Augmentation("roll,jitter", share=1.0, colours=3)
    obs, u = stacks(), draws(6, augmentation.draws)
    together = augmentation(obs, u)
    apart = [augmentation(obs[i : i + 1], u[i : i + 1]) for i in range(6)]
    assert torch.equal(together, torch.cat(apart))
    assert not torch.equal(augmentation(obs[:1], u[:1]), augmentation(obs[:1], u[1:2]))
    augmentation, obs = Augmentation("roll,jitter", share=0.5, colours=3), stacks()
    u = draws(6, augmentation.draws)
    u[:, 0] = torch.tensor([0.0, 0.0, 1.0, 1.0, 0.0, 1.0])  # roll, which draws two
    u[:, 3] = torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])  # jitter
    one, other = (Augmentation(name, share=1.0, colours=3) for name in ("roll", "jitter"))
    rolled = torch.where((u[:, 0] < 0.5)[:, None, None, None], one(obs, u[:, :3]), obs)
    both = torch.where((u[:, 3] < 0.5)[:, None, None, None], other(rolled, u[:, 3:]), rolled)
    assert torch.equal(augmentation(obs, u), both)


def images():
    """[5,1,2,H,W], float."""
    return torch.from_numpy(np.random.default_rng(2).random((5, 1, 2, 16, 16), np.float32))


def test_flips_greys_and_jitters_follow_their_definitions():
    x, u = images()[:4], torch.tensor([[0.4, 0.4], [0.4, 0.6], [0.6, 0.4], [0.6, 0.6]])
    want = [x[0].flip(2, 3), x[1].flip(3), x[2].flip(2), x[3]]
    assert torch.equal(flip(x, u), torch.stack(want))
    x = 100.0 * torch.from_numpy(np.random.default_rng(3).random((1, 2, 3, 4, 4), np.float32))
    light = 0.299 * x[:, :, 0] + 0.587 * x[:, :, 1] + 0.114 * x[:, :, 2]
    torch.testing.assert_close(AUGMENTATIONS["grey"][0](x, torch.zeros(1, 0))[:, :, 2], light)
    jitter = AUGMENTATIONS["jitter"][0]
    torch.testing.assert_close(jitter(x, torch.tensor([[0.75, 0.5, 0.5]])), 1.2 * x)
    mean = light.mean()
    torch.testing.assert_close(jitter(x, torch.tensor([[0.5, 0.0, 0.5]])), mean + 0.6 * (x - mean))
    want = light[:, :, None] + 0.8 * (x - light[:, :, None])
    torch.testing.assert_close(jitter(x, torch.tensor([[0.5, 0.5, 0.25]])), want)


@pytest.mark.parametrize("change", [roll, pad_crop])
def test_moves_are_by_whole_pixels_as_a_loop_makes_them(change):
    x, u, reach = images(), draws(5, 2), 2
    u[0], u[1] = torch.zeros(2), torch.full((2,), 1.0)
    found = change(x, u)
    mode = "wrap" if change is roll else "reflect"
    for row in range(5):
        right, down = (min(int((2 * reach + 1) * v), 2 * reach) for v in u[row].tolist())
        padded = np.pad(x[row, 0].numpy(), [(0, 0), (reach, reach), (reach, reach)], mode=mode)
        want = padded[:, down : down + 16, right : right + 16]
        np.testing.assert_array_equal(found[row, 0], want)


def bilinear(image, y, x, mode):
    """The value of an image [H,W] at any place; mode: of `numpy.pad`, what is seen beyond it."""
    padded, row, column = np.pad(image, 9, mode=mode), 9 + math.floor(y), 9 + math.floor(x)
    four = padded[row : row + 2, column : column + 2]
    return [1 - y % 1, y % 1] @ four @ [1 - x % 1, x % 1]


@pytest.mark.parametrize("name", ["rotate", "resized-crop", "zoom"])
def test_sampled_changes_are_what_a_loop_over_pixels_makes(name):
    change, count = AUGMENTATIONS[name]
    height, width = 12, 16  # not square: a turned image keeps its shape
    x = images()[:, :, :, :height]
    u = draws(5, count(2))
    u[0] = 0.0  # which leads over the border
    found = change(x, u)
    for row, numbers in enumerate(u.tolist()):
        for y, x_ in [(0, 0), (3, 11), (height - 1, width - 1), (5, 2)]:
            down, right = y + 0.5 - height / 2, x_ + 0.5 - width / 2  # from the middle
            if name == "rotate":
                angle = math.radians(20) * (2 * numbers[0] - 1)
                place = (
                    right * math.sin(angle) + down * math.cos(angle) + height / 2 - 0.5,
                    right * math.cos(angle) - down * math.sin(angle) + width / 2 - 0.5,
                )
                mode = "constant"
            elif name == "zoom":
                scale, to_right, to_bottom = (2 * number - 1 for number in numbers)
                place = (
                    down * (1 + 0.1 * scale) + 0.15 * to_bottom * height + height / 2 - 0.5,
                    right * (1 + 0.1 * scale) + 0.15 * to_right * width + width / 2 - 0.5,
                )
                mode = "symmetric"
            else:
                share = 0.75 + 0.25 * numbers[0]
                left, top = ((1 - share) * v for v in numbers[1:])
                place = (
                    (top + share * (y + 0.5) / height) * height - 0.5,
                    (left + share * (x_ + 0.5) / width) * width - 0.5,
                )
                mode = "edge"
            want = bilinear(x[row, 0, 1].numpy(), *place, mode)
            assert found[row, 0, 1, y, x_] == pytest.approx(want, abs=1e-4)


def test_cutouts_and_convolutions_are_of_the_size_and_weights_that_were_drawn():
    x = torch.ones(3, 1, 1, 64, 64)
    u = torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.2, 0.5, 0.8, 0.12]])
    black = AUGMENTATIONS["cutout"][0](x, u)[:, 0, 0] == 0.0
    assert black[0, :7, :7].all() and black[0].sum() == 49
    assert black[1, 42:, 42:].all() and black[1].sum() == 22**2
    assert black[2].sum() == 10 * 19
    x, u = 255.0 * images(), draws(5, 9 * 4)
    found = AUGMENTATIONS["convolution"][0](x, u)
    weights = math.sqrt(6 / 36) * (2 * u[3] - 1).view(2, 2, 3, 3)
    want = torch.nn.functional.conv2d(x[3] / 255.0, weights, padding=1).sigmoid() * 255.0
    torch.testing.assert_close(found[3], want)


def test_what_cannot_be_is_one_line():
    with pytest.raises(UserError, match="unknown --augment 'crop': expected flip, rotate"):
        Augmentation("flip,crop", share=0.3, colours=3)
    with pytest.raises(UserError, match="grey already"):
        Augmentation("grey", share=0.3, colours=1)
