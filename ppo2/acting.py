"""The net as it acts on a CPU, for so few images that calls cost as much as sums."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from nets.encoders import PixelConv
from nets.noisy import PlainLinear
from ppo2.learner import ActorCritic
from ppo2.memory import Noises


def layers_of(net: ActorCritic) -> tuple[list[Any], Any]:
    """The encoder's layers, and the last one by itself."""
    convolutions: Any = net.encoder.convolutions
    return list(convolutions)[:-1], convolutions[-1]


class Acting:
    """What a net without noise and memory is, in bf16 under autocast, with the weights that it had
    at the last `take`: cast, scaled and laid out there, once, instead of at every step.

    Features stay channels last, and the policy and the value are one layer.
    """

    def __init__(self, net: ActorCritic, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.take(net)

    @staticmethod
    def fits(net: ActorCritic, device: torch.device, dtype: torch.dtype) -> bool:
        """Whether it can stand in for that net there, in fp32 or bf16."""
        layers, last = layers_of(net)
        return (
            device.type == "cpu"
            and torch.backends.mkldnn.is_available()
            and (dtype == torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported())
            and all(isinstance(layer, nn.Conv2d) for layer in layers[::2])
            and all(isinstance(layer, nn.ReLU) for layer in layers[1::2])
            and isinstance(last, nn.Flatten)
            and isinstance(net.hidden, PlainLinear)
            and net.core is None
        )

    @torch.no_grad()
    def take(self, net: ActorCritic) -> None:
        """Be what the net has become."""
        layers, _ = layers_of(net)
        own = partial(torch.Tensor.to, dtype=self.dtype, copy=True)
        self.convolutions = []
        for layer in layers[::2]:
            weight = layer.weight * (1.0 / 255.0) if isinstance(layer, PixelConv) else layer.weight
            self.convolutions.append((layer, own(weight), own(layer.bias)))
        hidden, channels = net.hidden, self.convolutions[-1][1].shape[0]
        assert isinstance(hidden, PlainLinear)
        columns = hidden.weight.view(hidden.out_features, channels, -1).transpose(1, 2)
        self.hidden_weight = torch.ops.mkldnn._reorder_linear_weight(own(columns).flatten(1))
        self.hidden_bias = own(hidden.bias)
        heads: list[Any] = net.head.layers()
        self.head_weight = own(torch.cat([layer.weight for layer in heads]))
        self.head_bias = own(torch.cat([layer.bias for layer in heads]))

    def __call__(
        self, obs: Tensor, *, noise: Noises, state: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As ActorCritic.forward: uint8 [B,C,H,W] -> logits [B,A], values [B], and the state."""
        x = obs.contiguous(memory_format=torch.channels_last).to(self.dtype)
        for layer, weight, bias in self.convolutions:
            x = layer._conv_forward(x, weight, bias).relu_()
        hidden = torch.ops.mkldnn._linear_pointwise(
            x.permute(0, 2, 3, 1).flatten(1), self.hidden_weight, self.hidden_bias, "relu", [], ""
        )
        out = nn.functional.linear(hidden, self.head_weight, self.head_bias).float()
        return out[:, :-1], out[:, -1], state
