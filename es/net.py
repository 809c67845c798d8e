"""A policy whose encoder is frozen, and whose last layers each row of a batch has its own of."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from es.config import ESConfig
from experiment.checkpoint import Checkpoint
from experiment.config import subset
from experiment.errors import UserError
from nets.encoders import make_encoder, parse_widths
from nets.initialise import POLICY_GAIN, RELU_GAIN, orthogonal
from retro_env import EnvConfig

Linear = Callable[[str, Tensor], Tensor]
"""(name of a layer, its input [B,in]) -> its output [B,out]."""
SOURCES = {
    "ppo2": {"hidden": "hidden", "policy": "head.policy"},
    "rainbow": {
        "hidden": "head.hidden",
        "advantage": "head.advantage",
        "value": "head.value",
        "value_hidden": "head.value_hidden",
    },
}
"""Agents whose nets can be searched: our names of layers, and theirs."""
SAME = ("image_height", "image_width", "colour", "frame_stack", "frame_skip", "actions")
"""Fields that a run shares with the checkpoint that it starts from."""


class ESNet(nn.Module):
    """uint8 [B,C,H,W] -> scores [B,A]: a policy's logits, or expected returns.

    The layers are PPO2's or Rainbow's without their noise; a value that no action depends on is
    left out.
    """

    def __init__(self, config: ESConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = make_encoder(
            config.encoder,
            subset(config, EnvConfig).observation_shape,
            widths=parse_widths(config.widths),
            pool=config.pool,
        )
        features, hidden, actions = self.encoder.features, config.hidden, config.actions
        layers = {"hidden": nn.Linear(features, hidden)}
        if config.output == "logits":
            layers["policy"] = nn.Linear(hidden, actions)
        else:
            layers["advantage"] = nn.Linear(hidden, actions * config.atoms)
            if config.dueling:
                layers["value"] = nn.Linear(hidden, config.atoms)
            if config.dueling and config.streams == "separate":
                layers["value_hidden"] = nn.Linear(features, hidden)
        self.layers = nn.ModuleDict(layers)
        z = torch.linspace(config.v_min, config.v_max, config.atoms)
        self.z: Tensor
        self.register_buffer("z", z, persistent=False)
        orthogonal(self, gain=RELU_GAIN)
        if config.output == "logits":
            orthogonal(layers["policy"], gain=POLICY_GAIN)
        self.requires_grad_(False)

    def plain(self, name: str, x: Tensor) -> Tensor:
        """A layer as it is."""
        out: Tensor = self.layers[name](x)
        return out

    def hidden_units(self, features: Tensor, linear: Linear) -> Tensor:
        """Features [B,F] of the encoder -> units [B,H] of one hidden layer after the other."""
        names = [name for name in self.layers if name.endswith("hidden")]
        return torch.cat([torch.relu(linear(name, features)) for name in names], dim=1)

    def frozen(self, obs: Tensor) -> Tensor:
        """What no search changes: uint8 [B,C,H,W] -> features [B,F] of the encoder, or where only
        the last layers are searched what the hidden ones make of them [B,H]."""
        features: Tensor = self.encoder(obs)
        return features if self.config.layer == "fc" else self.hidden_units(features, self.plain)

    def scores(self, frozen: Tensor, linear: Linear) -> Tensor:
        """What `frozen` gave -> scores [B,A]; `linear` computes the layers."""
        units = self.hidden_units(frozen, linear) if self.config.layer == "fc" else frozen
        hidden = units[:, : self.config.hidden]
        if self.config.output == "logits":
            return linear("policy", hidden)
        atoms = self.config.atoms
        out = linear("advantage", hidden).view(len(units), -1, atoms)
        if self.config.dueling:
            value = linear("value", units[:, -self.config.hidden :]).view(-1, 1, atoms)
            out = value + out - out.mean(dim=1, keepdim=True)
        if atoms == 1:
            return out[:, :, 0]
        return (out.softmax(dim=2) * self.z).sum(dim=2)

    def forward(self, obs: Tensor) -> Tensor:
        return self.scores(self.frozen(obs), self.plain)

    @property
    def searched(self) -> list[str]:
        """Names of the layers that the run searches, in the order of the flat vector."""
        of_fc = self.config.layer == "fc"
        return [name for name in self.layers if name.endswith("hidden") == of_fc]

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(out, in) of the searched layers."""
        sizes = [self._tensors(name)[0].shape for name in self.searched]
        return tuple((out, inputs) for out, inputs in sizes)

    def flat(self) -> NDArray[np.float32]:
        """The searched weights [D]: of each layer its matrix row by row, then its bias."""
        parts = [t.flatten() for n in self.searched for t in self._tensors(n)]
        return torch.cat(parts).cpu().numpy()

    def split(self, vector: NDArray[np.float32]) -> dict[str, tuple[Tensor, Tensor]]:
        """A vector like `flat` -> (matrix [out,in], bias [out]) of each layer; views."""
        found, at = {}, 0
        values = torch.from_numpy(vector)
        for name, (out, inputs) in zip(self.searched, self.shapes, strict=True):
            middle = at + out * inputs
            found[name] = (values[at:middle].view(out, inputs), values[middle : middle + out])
            at = middle + out
        return found

    def take(self, vector: NDArray[np.float32]) -> None:
        """Let the searched layers have the weights [D]."""
        for name, new in self.split(vector).items():
            for own, value in zip(self._tensors(name), new, strict=True):
                own.copy_(value)

    def _tensors(self, name: str) -> tuple[Tensor, Tensor]:
        layer = self.layers[name]
        assert isinstance(layer, nn.Linear)
        return layer.weight.data, layer.bias.data

    def encoder_sha256(self) -> str:
        """Of the encoder's names and weights."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.encoder.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


class Members:
    """Searched layers of K rows, each with weights of its own, applied in one batch.

    All products have the same shape whatever the rows hold, so that a row's result depends on
    nothing but its own weights and input: PyTorch's sums of other shapes differ in the last bit.
    """

    def __init__(self, net: ESNet, rows: int) -> None:
        self.net, self.rows = net, rows
        device = next(net.parameters()).device
        self.weights = {
            name: (
                torch.zeros(rows, *shape, device=device),
                torch.zeros(rows, shape[0], 1).to(device),
            )
            for name, shape in zip(net.searched, net.shapes, strict=True)
        }

    def put(self, row: int, vector: NDArray[np.float32]) -> None:
        """Let a row have the weights [D]."""
        for name, (matrix, bias) in self.net.split(vector).items():
            matrices, biases = self.weights[name]
            matrices[row].copy_(matrix)
            biases[row, :, 0].copy_(bias)

    def linear(self, name: str, x: Tensor) -> Tensor:
        """A layer of every row: x [K,in] -> [K,out]."""
        if name not in self.weights:
            return self.net.plain(name, x)
        matrices, biases = self.weights[name]
        return torch.baddbmm(biases, matrices, x[:, :, None])[:, :, 0]

    @torch.no_grad()
    def scores(self, frozen: Tensor) -> Tensor:
        """What `ESNet.frozen` gave [K,F], a row each -> scores [K,A]."""
        assert len(frozen) == self.rows
        return self.net.scores(frozen, self.linear)


def config_of(saved: Checkpoint, config: ESConfig) -> ESConfig:
    """The run's config with the net of a checkpoint. UserError: that net cannot be searched."""
    theirs = saved.config
    if saved.agent not in (*SOURCES, "es"):
        known = ", ".join((*SOURCES, "es"))
        raise UserError(f"{saved.folder} is of agent {saved.agent!r}; give one of: {known}")
    for name in SAME:
        if theirs[name] != getattr(config, name):
            flag = name.replace("_", "-")
            raise UserError(
                f"{saved.folder} was trained with {name} {theirs[name]}, this run has "
                f"{getattr(config, name)}; give --{flag} {theirs[name]}"
            )
    if theirs.get("recurrent", "none") != "none":
        raise UserError(f"{saved.folder} has a recurrent net; give one without")
    names = ["encoder", "widths", "pool", "hidden"]
    if saved.agent == "es":
        names += ["output", "atoms", "v_min", "v_max", "dueling", "streams"]
    values: dict[str, Any] = {name: theirs[name] for name in names}
    if saved.agent == "ppo2":
        values["output"] = "logits"
    if saved.agent == "rainbow":
        values |= {name: theirs[name] for name in ("v_min", "v_max", "dueling", "streams")}
        values["output"] = "values"
        values["atoms"] = theirs["atoms"] if theirs["distributional"] else 1
    return replace(config, **values)


def weights_of(saved: Checkpoint) -> dict[str, Tensor]:
    """A checkpoint's net in our names, without noise."""
    return renamed(saved.tensors["net"], saved.agent)


def renamed(tensors: Mapping[str, Tensor], agent: str) -> dict[str, Tensor]:
    """Another agent's weights in our names; what we have no use for is left out."""
    if agent == "es":
        return dict(tensors)
    found = {name: t for name, t in tensors.items() if name.startswith("encoder.")}
    for ours, theirs in SOURCES[agent].items():
        for kind in ("weight", "bias"):
            if f"{theirs}.{kind}" in tensors:
                found[f"layers.{ours}.{kind}"] = tensors[f"{theirs}.{kind}"]
    return found
