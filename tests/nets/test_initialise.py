from functools import partial

import pytest
import torch
from torch import nn

from ppo2.config import PPO2Config
from retro_agents.nets.actor_critic import make_trunk
from retro_agents.nets.blocks import convolution
from retro_agents.nets.encoders import impala, make_encoder
from retro_agents.nets.heads import ActorCriticHead
from retro_agents.nets.initialise import (
    RELU_GAIN,
    initialiser,
    kaiming,
    orthogonal,
    orthogonal_gates,
    xavier,
)
from retro_agents.nets.noisy import PlainLinear
from retro_agents.run.config import replaced


def assert_orthogonal(matrix, gain):
    """The shorter side's vectors have length `gain` and right angles."""
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    torch.testing.assert_close(
        matrix @ matrix.T, gain**2 * torch.eye(len(matrix)), atol=1e-5, rtol=1e-4
    )


def convolutions(encoder):
    return [layer for layer in encoder.modules() if isinstance(layer, nn.Conv2d)]


def test_every_layer_of_an_encoder_becomes_orthogonal_and_xresnets_by_default():
    nature = make_encoder("nature", (4, 84, 84))  # its kernels are laid out channels last
    orthogonal(nature, gain=RELU_GAIN)
    xresnet, _ = make_trunk(replaced(PPO2Config(), encoder="xresnet", initialisation="default"))
    assert len(convolutions(nature)) == 3 and len(convolutions(xresnet)) > 5
    for layer in (*convolutions(nature), *convolutions(xresnet)):
        assert_orthogonal(layer.weight.detach().flatten(1), RELU_GAIN)
    assert not any(layer.bias.any() for layer in convolutions(nature))


@pytest.mark.parametrize(("kind", "gates"), [(nn.GRU, 3), (nn.LSTM, 4)])
def test_every_gate_is_orthogonal_by_itself(kind, gates):
    cells = kind(6, 4)
    orthogonal_gates(cells)
    for weight in (cells.weight_ih_l0, cells.weight_hh_l0):
        for gate in weight.detach().view(gates, 4, -1):
            assert_orthogonal(gate, 1.0)
    assert not cells.bias_ih_l0.any() and not cells.bias_hh_l0.any()


def test_actor_critic_starts_almost_indifferent():
    head = ActorCriticHead(32, actions=7)
    assert_orthogonal(head.policy.weight.detach(), 0.01)
    assert_orthogonal(head.value.weight.detach(), 1.0)


def test_xavier_weights_fill_their_bounds_and_kaimings_keep_the_size_behind_a_relu():
    encoder, hidden = impala((3, 64, 64), widths=(4, 8)), PlainLinear(200, 50)
    for module in (encoder, hidden):
        xavier(module)
    for layer in [*convolutions(encoder), hidden]:
        outputs, inputs = layer.weight.shape[:2]
        kernel = layer.weight[0, 0].numel()
        bound = (6.0 / (kernel * (inputs + outputs))) ** 0.5
        largest = layer.weight.abs().max().item()
        assert 0.9 * bound < largest <= bound
        assert abs(layer.weight.std().item() / (bound / 3**0.5) - 1.0) < 0.15
        assert (layer.bias == 0.0).all()
    layer = nn.Conv2d(32, 64, 3)
    kaiming(layer)
    assert layer.weight.std().item() == pytest.approx((2 / (32 * 9)) ** 0.5, rel=0.05)
    assert not layer.bias.any()


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("xavier", xavier),
        ("kaiming", kaiming),
        ("orthogonal", partial(orthogonal, gain=RELU_GAIN)),
    ],
)
def test_weights_are_drawn_as_they_are_named(name, draw):
    layers = [nn.Conv2d(4, 8, 3), nn.Conv2d(4, 8, 3)]
    for layer, fill in zip(layers, (initialiser(name), draw), strict=True):
        torch.manual_seed(0)
        fill(layer)
    assert torch.equal(layers[0].weight, layers[1].weight)


def test_a_separable_convolution_keeps_the_size_of_what_it_gets():
    x = torch.randn(4, 64, 16, 16)
    for init in (kaiming, partial(orthogonal, gain=RELU_GAIN)):
        layer = convolution(64, 128, parts=["separable"])
        init(layer)
        first = layer[0](x)[:, :, 1:-1, 1:-1]
        assert first.std().item() == pytest.approx(1.0, rel=0.1)
