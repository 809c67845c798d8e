from itertools import product

import pytest
import torch
from torch.nn import functional

from retro_agents.ground.errors import UserError
from retro_agents.nets.blocks import SelfAttention
from retro_agents.nets.encoders import (
    ENCODERS,
    encoder_of,
    make_encoder,
    separable,
)
from retro_agents.nets.parts import ALL, PARTS, parse_parts, parse_widths
from retro_agents.nets.pixels import PixelConv, in_blocks
from retro_agents.nets.settings import NetSettings
from tests.runs import ROOT


def images(channels=4, height=84, width=84):
    torch.manual_seed(0)
    return torch.randint(256, (2, channels, height, width), dtype=torch.uint8)


def test_every_encoder_has_a_name_and_a_row_on_the_page_as_every_part_has():
    page = (ROOT / "docs/reference/nets.md").read_text()
    assert {*ALL} == ENCODERS.keys()
    assert not [name for name in (*ENCODERS, *PARTS) if f"`{name}`" not in page]


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("image", [(1, 84, 84), (3, 84, 84), (4, 84, 84), (24, 64, 96)])
def test_encoder_says_how_wide_its_output_is_whatever_the_layout_in_memory(name, image):
    encoder = make_encoder(name, image)
    fast = encoder(images(*image))
    assert fast.shape == (2, encoder.features)
    slow = encoder.to(memory_format=torch.contiguous_format)(images(*image))
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "option", "pooled"),
    [
        ("impala", {"pool": True}, lambda last: last.mean(dim=(2, 3))),
        ("mobilenet", {"pool": True}, lambda last: last.mean(dim=(2, 3))),
        ("impala", {"parts": ["max-pool"]}, lambda last: functional.max_pool2d(last, 2).flatten(1)),
    ],
)
def test_pooled_features_are_the_means_or_maxima_of_the_last_channels(name, option, pooled):
    image, widths = (4, 96, 96), (4, 8, 12)
    whole = make_encoder(name, image, widths=widths)
    encoder = make_encoder(name, image, widths=widths, **option)
    encoder.load_state_dict(whole.state_dict())
    want = pooled(whole(images(*image)).view(2, 12, 12, 12))
    assert encoder.features == want.shape[1]
    torch.testing.assert_close(encoder(images(*image)), want)


@pytest.mark.parametrize(
    ("name", "options", "features"),
    [
        ("impala", {"widths": (5, 6, 7, 8)}, 8 * 4 * 4),  # 64 pixels halved four times
        ("nature", {"widths": (4, 8, 16)}, 16 * 4 * 4),
        ("nature", {"widths": (4, 8, 16), "pool": True}, 16),
        ("xresnet", {}, 64 * 8 * 8),
        ("xresnet", {"pool": True}, 64),
    ],
)
def test_widths_and_pooling_are_as_told(name, options, features):
    encoder = make_encoder(name, (4, 64, 64), **options)
    assert encoder(images(4, 64, 64)).shape == (2, encoder.features) == (2, features)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("nature", {}, "images of 36x20 pixels are too small"),
        ("data-efficient", {}, "images of 36x20 pixels are too small"),
        ("impala", {"parts": ["pool-first"]}, "--pool"),
        ("impala", {"parts": ["max-pool"], "pool": True}, "give --no-pool"),
        ("impala", {"parts": ["spectral-norm", "separable"]}, "same layers as separable"),
        ("impala", {"parts": ["group-norm", "batch-norm"]}, "same layers as batch-norm"),
        ("xresnet", {"parts": ["weight-standardisation"]}, "add group-norm"),
        ("xresnet", {"parts": ["max-stem", "stem"]}, "same layers as max-stem"),
        ("nature", {"parts": ["frame-attention"]}, "several frames: give a --frame-stack above 1"),
    ],
)
def test_what_an_encoder_cannot_be_is_refused_in_one_line(name, options, words):
    make_encoder(name, (4, 36, 36))
    with pytest.raises(UserError, match=words):
        make_encoder(name, (4, 36, 20), **options)


def test_separable_convolution_equals_the_full_one_of_its_factors():
    each, relu, across, _ = separable(3, 5, stride=2)
    x = torch.randn(2, 3, 9, 9)
    kernel = torch.zeros(3, 3, 3, 3)
    for channel in range(3):
        kernel[channel, channel] = each.weight[channel, 0]
    middle = torch.nn.functional.conv2d(x, kernel, each.bias, stride=2, padding=1).relu()
    want = torch.einsum("oi,bihw->bohw", across.weight[:, :, 0, 0], middle)
    want = want + across.bias[:, None, None]
    torch.testing.assert_close(across(relu(each(x))), want, atol=1e-5, rtol=1e-4)


def test_mobilenet_tells_images_apart_before_it_has_learnt():
    encoder = make_encoder("mobilenet", (4, 84, 84))
    blocks = torch.randint(256, (16, 4, 6, 6), dtype=torch.uint8)
    obs = blocks.repeat_interleave(14, dim=2).repeat_interleave(14, dim=3)
    assert encoder(obs).std(dim=0).mean() > 0.01  # 0.05; under PyTorch's own weights 1e-6


def test_widths_are_read_as_flags_spell_them():
    assert parse_widths("") == ((), ()) and parse_widths("16") == ((16,), ())
    assert parse_widths("16,32, 8") == ((16, 32, 8), ())
    assert parse_widths("32:2, 64:1") == ((32, 64), (2, 1))
    for text in ("16,", "16x32", "0", "-3", "²", "8:", "8:3", "8:2,8", ":2"):
        with pytest.raises(UserError, match="widths"):
            NetSettings(widths=text)


@pytest.mark.parametrize("name", ENCODERS)
def test_shifted_pixels_lie_around_zero_also_at_the_border(name):
    plain, shifted = (
        make_encoder(name, (4, 64, 64)),
        make_encoder(name, (4, 64, 64), parts=["shifted"]),
    )
    shifted.load_state_dict(plain.state_dict())
    first, *others = shifted.convolutions
    want = (images(4, 64, 64).float() - 128) / 255
    if isinstance(first, PixelConv):
        want = first._conv_forward(want, first.weight, first.bias)
    want = torch.nn.Sequential(*others)(want)
    torch.testing.assert_close(shifted(images(4, 64, 64)), want, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(plain(images(4, 64, 64)), want, atol=1e-3)


def test_pool_first_takes_means_before_the_last_relu():
    widths = (4, 8, 12)
    pooled = make_encoder("impala", (4, 64, 64), widths=widths, pool=True, parts=["pool-first"])
    before = pooled.convolutions[:-3](images(4, 64, 64))
    assert before.shape == (2, 12, 8, 8)
    torch.testing.assert_close(pooled(images(4, 64, 64)), before.mean(dim=(2, 3)).relu())


def test_unknown_or_unfit_parts_are_refused_with_those_that_fit():
    assert parse_parts("", "nature") == ()
    assert parse_parts("shifted, pool-first", "impala") == ("shifted", "pool-first")
    for text in ("pool-first", "shift", "shifted,"):
        with pytest.raises(
            UserError, match="'nature' takes shifted, attention, frame-attention, not"
        ):
            parse_parts(text, "nature")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *product(["impala", "xresnet"], ["separable", "group-norm", "squeeze-excite", "attention"]),
        *product(["impala", "xresnet"], ["batch-norm", "swish"]),
        *product(["impala"], ["spectral-norm", "strided"]),
        *product(["xresnet"], ["max-strides", "max-shortcut"]),
    ],
)
def test_parts_of_residual_nets_leave_the_shape_of_the_features(name, part):
    plain = make_encoder(name, (6, 36, 44), widths=(4, 8, 8))
    encoder = make_encoder(name, (6, 36, 44), widths=(4, 8, 8), parts=[part])
    assert encoder(images(6, 36, 44)).shape == (2, plain.features)
    assert str(encoder) != str(plain)


def test_strided_convolutions_replace_max_pools():
    encoder = make_encoder("impala", (4, 64, 64), widths=(4, 8), parts=["strided"])
    first, *_, second, _, _, _, _ = encoder.convolutions
    assert first.stride == second.stride == (2, 2)
    assert not any(isinstance(layer, torch.nn.MaxPool2d) for layer in encoder.modules())


@pytest.mark.parametrize("part", ["stem", "max-stem"])
def test_a_stem_halves_the_image_before_the_blocks(part):
    plain, stemmed = (
        make_encoder("xresnet", (4, 64, 64), widths=(4, 8), parts=parts) for parts in ([], [part])
    )
    assert (plain.features, stemmed.features) == (8 * 16 * 16, 8 * 8 * 8)


@pytest.mark.parametrize("name", ENCODERS)
def test_with_attention_over_frames_an_encoder_sees_each_frame_alone(name):
    encoder = make_encoder(name, (6, 64, 64), parts=["frame-attention", "shifted"], frames=2)
    torch.manual_seed(0)
    alone = make_encoder(name, (3, 64, 64), parts=["shifted"])
    assert encoder.features == alone.features
    over, obs = encoder.convolutions[0], images(6, 64, 64)
    frames = [alone.convolutions[:-1](obs[:, first : first + 3]) for first in (0, 3)]
    want = over.attention(torch.stack(frames, dim=1)).flatten(1)
    torch.testing.assert_close(encoder(obs), want, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ENCODERS)
def test_attention_starts_as_the_identity(name):
    plain = make_encoder(name, (4, 64, 64))
    torch.manual_seed(0)
    encoder = make_encoder(name, (4, 64, 64), parts=["attention"])
    layers = [*encoder.convolutions]
    kept = [layer for layer in layers if not isinstance(layer, SelfAttention)]
    assert len(kept) == len(layers) - 1
    torch.nn.Sequential(*kept).load_state_dict(plain.convolutions.state_dict())
    assert torch.equal(encoder(images(4, 64, 64)), plain(images(4, 64, 64)))
    encoder(images(4, 64, 64)).square().sum().backward()
    attention = next(layer for layer in layers if isinstance(layer, SelfAttention))
    assert attention.gamma.grad.abs() > 0


def test_blocks_of_xresnet_have_the_strides_that_they_are_told():
    text = "32:2,32:1,64:2,64:1,64:1,64:1,64:1"  # the competition entry's best
    encoder = encoder_of(NetSettings(encoder="xresnet", widths=text), (3, 64, 64))
    assert encoder(images(3, 64, 64)).shape == (2, 64 * 16 * 16)
    with pytest.raises(UserError, match="encoder 'impala' has strides of its own"):
        encoder_of(NetSettings(encoder="impala", widths="16:2,32:2"), (3, 64, 64))


def test_a_convolution_on_blocks_of_pixels_is_the_strided_one():
    convolution = PixelConv(4, 16, 8, stride=4).double()
    images = torch.randint(0, 256, (2, 4, 20, 36), dtype=torch.uint8)
    weights = in_blocks(convolution.weight / 255, 4)
    blocks = functional.conv2d(in_blocks(images.double(), 4), weights, convolution.bias)
    torch.testing.assert_close(blocks, convolution(images))
