from itertools import product

import pytest
import torch
from torch.nn import functional

from retro_agents.experience.gradients import GradientThreads
from retro_agents.nets.blocks import (
    BatchNorm,
    FrameAttention,
    ResidualBlock,
    SelfAttention,
    SpectralConv,
    SqueezeExcite,
    StandardisedConv,
    XResidualBlock,
    convolution,
)


def test_attention_is_what_a_loop_over_places_makes():
    layer, x = SelfAttention(16), torch.randn(2, 16, 3, 4)
    layer.gamma.data.fill_(0.7)
    q, k, v = (conv.weight[:, :, 0, 0] for conv in (layer.query, layer.key, layer.value))
    assert q.shape == (2, 16)
    want = x.clone()
    for image in range(2):
        places = x[image].flatten(1)  # [C,HW]
        for place in range(12):
            match = torch.stack([(q @ places[:, place]) @ (k @ places[:, j]) for j in range(12)])
            weights = match.exp() / match.exp().sum()
            seen = sum(weights[j] * (v @ places[:, j]) for j in range(12))
            want[image, :, place // 4, place % 4] += 0.7 * seen
    torch.testing.assert_close(layer(x), want, atol=1e-5, rtol=1e-4)


def test_attention_over_frames_is_what_a_loop_over_places_and_frames_makes():
    layer, x = FrameAttention(16, 3), torch.randn(2, 3, 16, 2, 4)
    layer.places.data.normal_()
    q, k, v = (conv.weight[:, :, 0, 0] for conv in (layer.query, layer.key, layer.value))
    want = torch.zeros(2, 16, 2, 4)
    for image, row, column in product(range(2), range(2), range(4)):
        frames = x[image, :, :, row, column] + layer.places[:, :, 0, 0]  # [F,C]
        match = torch.stack([(q @ frames[-1]) @ (k @ frame) / 2**0.5 for frame in frames])
        weights = match.exp() / match.exp().sum()
        seen = sum(weight * (v @ frame) for weight, frame in zip(weights, frames, strict=True))
        want[image, :, row, column] = frames[-1] + seen
    torch.testing.assert_close(layer(x), want, atol=1e-5, rtol=1e-4)


def test_standardised_weights_have_mean_0_and_deviation_1_for_each_output():
    layer, x = StandardisedConv(3, 4, 3, padding=1), torch.randn(2, 3, 5, 5)
    weight = layer.weight.detach().flatten(1).numpy()
    weight = (weight - weight.mean(1, keepdims=True)) / weight.std(1, keepdims=True)
    want = functional.conv2d(x, torch.tensor(weight).view(4, 3, 3, 3), layer.bias, padding=1)
    torch.testing.assert_close(layer(x), want, atol=1e-3, rtol=1e-3)
    assert isinstance(convolution(3, 4, parts=["weight-standardisation"]), StandardisedConv)


def test_batch_norm_learns_by_the_batch_and_acts_by_what_it_has_seen():
    layer, x = BatchNorm(3), 5.0 + 2.0 * torch.randn(64, 3, 4, 4)
    learned = layer(x)
    torch.testing.assert_close(learned.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(layer.mean, 0.1 * x.mean(dim=(0, 2, 3)))
    with torch.no_grad():
        mean, variance = layer.mean.clone(), layer.variance.clone()
        acted = layer(x)
    deviation = (variance + 1e-5).sqrt()
    want = (x - mean[:, None, None]) / deviation[:, None, None]
    torch.testing.assert_close(acted, want, atol=1e-4, rtol=1e-4)
    assert torch.equal(layer.mean, mean)
    alone = GradientThreads(4, torch.nn.Sequential(layer))
    assert alone.count == 1  # whose order of microbatches is always the same


@pytest.mark.parametrize("block", [ResidualBlock(4, ["swish"]), None])
def test_swish_replaces_every_relu_of_a_block(block):
    x, swish = torch.randn(2, 4, 5, 5), lambda x: x * x.sigmoid()
    if block is None:
        block = XResidualBlock(4, 4, stride=1, parts=["swish"])
        want = swish(x + block.second(swish(block.first(x))))
    else:
        want = x + block.second(swish(block.first(swish(x))))
    torch.testing.assert_close(block(x), want)


def test_block_of_xresnet_takes_the_largest_where_it_is_told():
    block = XResidualBlock(4, 4, stride=2, parts=["max-strides", "max-shortcut"])
    x = torch.randn(2, 4, 7, 7)
    largest = lambda x: functional.max_pool2d(x, 2, ceil_mode=True)  # noqa: E731
    change = block.second(largest(block.first[0](x)).relu())
    torch.testing.assert_close(block(x), (largest(x) + change).relu())


def test_squeeze_excite_gates_channels_by_their_means():
    layer, x = SqueezeExcite(8), torch.randn(2, 8, 3, 3)
    first, second = layer.gates[1], layer.gates[3]
    means = x.mean(dim=(2, 3))
    hidden = (means @ first.weight[:, :, 0, 0].T + first.bias).relu()
    gates = (hidden @ second.weight[:, :, 0, 0].T + second.bias).sigmoid()
    assert hidden.shape == (2, 2)
    torch.testing.assert_close(layer(x), x * gates[:, :, None, None])


def test_separable_convolution_equals_the_full_one_of_its_factors():
    layer, x = convolution(2, 5, parts=["separable"]), torch.randn(3, 2, 6, 6)
    each, across = layer
    kernel = torch.zeros(5, 2, 3, 3)
    for output in range(5):
        for map_ in range(8):  # four of each channel
            kernel[output, map_ // 4] += across.weight[output, map_, 0, 0] * each.weight[map_, 0]
    want = functional.conv2d(x, kernel, across.bias, padding=1)
    torch.testing.assert_close(layer(x), want, atol=1e-5, rtol=1e-4)


def test_group_norm_gives_each_group_of_channels_mean_0_and_deviation_1():
    found = convolution(3, 12, parts=["group-norm"])(torch.randn(2, 3, 8, 8))
    groups = found.view(2, 4, -1)  # the most of 8 that 12 channels divide into
    torch.testing.assert_close(groups.mean(dim=2), torch.zeros(2, 4), atol=1e-5, rtol=0)
    torch.testing.assert_close(groups.std(dim=2), torch.ones(2, 4), atol=1e-2, rtol=0)


def test_spectral_convolution_stretches_no_patch_and_has_pytorchs_gradient():
    layer, x = SpectralConv(3, 5, 3, padding=1), torch.randn(2, 3, 8, 8)
    bias = layer.bias[:, None, None]
    for _ in range(5):
        largest = torch.linalg.matrix_norm(layer.weight.detach().flatten(1), ord=2)
        plain = functional.conv2d(x, layer.weight, padding=1)
        torch.testing.assert_close(layer(x), plain / largest + bias)
        layer.weight.data.add_(torch.randn(5, 3, 3, 3))  # now its vector is another one
    assert not [*layer.buffers()]  # so threads and a moving average share all that it has
    ours, x = SpectralConv(3, 5, 3, padding=1), torch.randn(2, 3, 8, 8)
    theirs = torch.nn.Conv2d(3, 5, 3, padding=1)
    theirs.load_state_dict({"weight": ours.weight, "bias": ours.bias})
    theirs = torch.nn.utils.parametrizations.spectral_norm(theirs, n_power_iterations=100)
    for layer in (ours, theirs):
        layer(x).square().sum().backward()
    found = theirs.parametrizations.weight.original.grad
    torch.testing.assert_close(ours.weight.grad, found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("outputs", "stride"), [(4, 1), (6, 1), (4, 2), (6, 2)])
def test_block_of_xresnet_adds_the_input_at_its_own_size(outputs, stride):
    block = XResidualBlock(4, outputs, stride=stride, parts=[])
    x = torch.randn(2, 4, 7, 7)
    block.second.weight.data.zero_()
    block.second.bias.data.fill_(0.5)
    short = functional.avg_pool2d(x, 2, ceil_mode=True) if stride == 2 else x
    if outputs != 4:
        short = block.shortcut[-1](short)
    torch.testing.assert_close(block(x), (short + 0.5).relu())
