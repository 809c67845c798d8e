import pytest
import torch

from nets.encoders import ENCODERS, PixelConv, make_encoder


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(("channels", "height", "width"), [(4, 84, 84), (12, 64, 96)])
def test_encoder_says_how_wide_its_output_is(name, channels, height, width):
    encoder = make_encoder(name, (channels, height, width))
    obs = torch.randint(256, (2, channels, height, width), dtype=torch.uint8)
    assert encoder(obs).shape == (2, encoder.features)


def test_pixels_are_scaled_to_one():
    torch.manual_seed(0)
    layer = PixelConv(2, 3, 3)
    obs = torch.randint(256, (2, 2, 5, 5), dtype=torch.uint8)
    want = torch.nn.functional.conv2d(obs.float() / 255.0, layer.weight, layer.bias)
    torch.testing.assert_close(layer(obs), want)


@pytest.mark.parametrize("name", ENCODERS)
def test_layout_in_memory_does_not_change_the_output(name):
    torch.manual_seed(0)
    encoder = make_encoder(name, (4, 84, 84))
    obs = torch.randint(256, (2, 4, 84, 84), dtype=torch.uint8)
    fast = encoder(obs)
    slow = encoder.to(memory_format=torch.contiguous_format)(obs)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
