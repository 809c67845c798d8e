"""The acting side of Evolution Strategies: another package's agent, some of whose layers are
searched."""

import importlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from es.config import ESConfig
from experiment.checkpoint import agent_of, load_agent, load_checkpoint, save_checkpoint
from experiment.config import from_dict, subset, to_dict
from experiment.errors import UserError
from retro_env import EnvConfig

SAME = ("image_height", "image_width", "colour", "frame_stack", "frame_skip", "actions")
"""Fields that a run shares with the checkpoint that it starts from."""


class Policy(Protocol):
    """An agent whose net can be searched. The net's first part is its `encoder`, and a fully
    connected layer behind that is called `hidden`, or something that ends so."""

    net: Any
    config: Any

    def scores(self, images: Tensor) -> Tensor:
        """Images uint8 [B,C,H,W] -> [B,A] with gradient: logits, or values; larger is better."""
        ...


class ESAgent:
    """Acts by the best score; by a draw from the policy where the config says so, or exploring."""

    def __init__(self, policy: Policy, config: ESConfig) -> None:
        self.policy, self.net, self.config = policy, policy.net, config
        self.device = next(policy.net.parameters()).device
        self.names = searched_names(policy, config.layer)

    @torch.no_grad()
    def act(self, obs: NDArray[np.uint8], *, explore: bool = False) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. explore: draw from a policy with logits."""
        scores = self.scores(torch.from_numpy(obs).to(self.device)).cpu()
        if has_logits(self.policy) and (explore or self.config.draw_actions):
            return torch.multinomial(scores.softmax(dim=1), 1)[:, 0].numpy()
        return scores.argmax(dim=1).numpy()

    def scores(self, images: Tensor) -> Tensor:
        """Logits or expected returns [B,A] of images uint8 [B,C,H,W], with gradient."""
        return self.policy.scores(images)

    @property
    def theta(self) -> NDArray[np.float32]:
        """The searched weights, [D]."""
        return flat(self.net, self.names)

    def take(self, theta: NDArray[np.float32]) -> None:
        """Let the searched weights be these, [D]."""
        fill(self.net, self.names, theta)

    def save(self, folder: Path | str) -> None:
        """Write weights and config, without a run's state, as a checkpoint that `load` reads."""
        save_checkpoint(
            Path(folder),
            agent="es",
            config=self.config,
            counters={"env_steps": 0},
            tensors={"net": self.net.state_dict()},
        )

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> "ESAgent":
        """The agent in a checkpoint folder. UserError where it is cut off or another agent's."""
        saved = load_checkpoint(folder).of("es")
        config = from_dict(ESConfig, saved.config)
        return cls(build_policy(config, saved.tensors["net"], device=device), config)

    @classmethod
    def start(
        cls, config: ESConfig, init: Path | str | None = None, *, device: str = "cpu"
    ) -> "ESAgent":
        """The agent that a run starts from: a checkpoint's, or an untrained PPO2 whose weights are
        drawn from torch's generator. UserError: a net that cannot be searched."""
        if init is None:
            name, policy = "ppo2", untrained(config, device=device)
        else:
            name, loaded = agent_of(init), load_agent(init, device=device)
            policy = loaded.policy if isinstance(loaded, ESAgent) else loaded
            if isinstance(loaded, ESAgent):
                name = loaded.config.searched[0]["agent"]
            check(policy, config, name=name, source=init)
        searched = {"agent": name, "config": to_dict(policy.config)}
        return cls(policy, replace(config, searched=(searched,)))


def check(policy: Any, config: ESConfig, *, name: str, source: Path | str) -> None:
    """UserError: a net that cannot be searched, or not by such a run."""
    if not hasattr(policy, "scores"):
        raise UserError(f"{source} is of agent {name!r}; give one of: ppo2, rainbow, es")
    if getattr(policy.config, "recurrent", "none") != "none":
        raise UserError(f"{source} has a recurrent net; give one without")
    if config.draw_actions and not has_logits(policy):
        raise UserError(f"draw_actions is for policies with logits, not for the values of {source}")
    for field in SAME:
        theirs, ours = getattr(policy.config, field), getattr(config, field)
        if theirs != ours:
            raise UserError(
                f"{source} was trained with {field} {theirs}, this run has {ours}; give "
                f"--{field.replace('_', '-')} {theirs}"
            )


def has_logits(policy: Policy) -> bool:
    """Whether scores are a policy's logits, from which actions can be drawn."""
    return hasattr(policy, "probabilities")


def untrained(config: ESConfig, *, device: str) -> Policy:
    """A PPO2 that knows nothing."""
    agent, settings = importlib.import_module("ppo2.agent"), importlib.import_module("ppo2.config")
    env = to_dict(subset(config, EnvConfig))
    theirs = settings.PPO2Config(**env, encoder=config.encoder, hidden=config.hidden)
    policy: Policy = agent.PPO2Agent(agent.make_net(theirs), theirs, device=device)
    return policy


def build_policy(config: ESConfig, weights: Mapping[str, Tensor], *, device: str) -> Policy:
    """The agent that was searched, with these weights of its net."""
    (searched,) = config.searched
    with tempfile.TemporaryDirectory() as folder:
        saved = save_checkpoint(
            Path(folder),
            agent=searched["agent"],
            config=searched["config"],
            counters={"env_steps": 0},
            tensors={"net": weights},
        )
        policy: Policy = load_agent(saved, device=device)
    return policy


def searched_names(policy: Policy, layer: str) -> list[str]:
    """Names of the net's parameters that are searched: of all behind the encoder on which scores
    depend (noise and a critic's value do not count), those of fully connected layers ("fc"), or
    those behind them ("head")."""
    net = policy.net
    names = [name for name, _ in net.named_parameters() if not name.startswith("encoder.")]
    for name in names:
        net.get_parameter(name).requires_grad_(True)
    blank = torch.zeros(1, *net.encoder.image, dtype=torch.uint8)
    scores = policy.scores(blank.to(next(net.parameters()).device))
    parameters = [net.get_parameter(name) for name in names]
    found = torch.autograd.grad(scores.sum(), parameters, allow_unused=True)
    used = [name for name, slope in zip(names, found, strict=True) if slope is not None]
    return [name for name in used if is_hidden(name.rpartition(".")[0]) == (layer == "fc")]


def is_hidden(layer: str) -> bool:
    """Whether a fully connected layer has that name."""
    return layer.endswith("hidden")


def shapes(net: nn.Module, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """(out, in) of the searched layers, each of which has a matrix and then a bias."""
    found = []
    for matrix, bias in zip(names[::2], names[1::2], strict=True):
        out, inputs = net.get_parameter(matrix).shape
        assert net.get_parameter(bias).shape == (out,), f"{matrix} and {bias} are no layer"
        found.append((out, inputs))
    return tuple(found)


def flat(net: nn.Module, names: Sequence[str]) -> NDArray[np.float32]:
    """Those parameters on end, [D]: of each layer its matrix row by row, then its bias."""
    parts = [net.get_parameter(name).detach().flatten() for name in names]
    return torch.cat(parts).cpu().numpy()


@torch.no_grad()
def fill(net: nn.Module, names: Sequence[str], vector: NDArray[np.float32]) -> None:
    """Let those parameters be what `flat` gave, [D]."""
    parameters = [net.get_parameter(name) for name in names]
    parts = torch.from_numpy(vector).split([p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.copy_(part.view_as(parameter))
