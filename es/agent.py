"""The acting side of Evolution Strategies: another package's agent, some of whose layers are
searched."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from es.config import ESConfig
from retro_agents.contract.policy import Play, ScoringPolicy
from retro_agents.ground.errors import UserError
from retro_agents.nets.net_agent import PolicyAgent
from retro_agents.run.agents import check_alike, find
from retro_agents.run.checkpoint import agent_of, load_agent
from retro_agents.run.config import from_dict, to_dict


class ESAgent(PolicyAgent[Any, ESConfig]):
    """Takes the best action, or samples from the policy if its config says so."""

    name, config_type = "es", ESConfig

    def __init__(self, policy: Any, config: ESConfig) -> None:
        super().__init__(policy.net, config, device=policy.device)
        self.policy = policy
        self.logits = policy.logits
        self.names = searched_names(policy, config.layer)

    def how(self, play: Play | None) -> Play:
        """The given way to play; None: as it was searched (values: by the best action)."""
        play = play or ("draw" if self.config.draw_actions else "best")
        return "best" if play == "draw" and not self.logits else play

    def scores(self, images: Tensor) -> Tensor:
        """Logits or expected returns [B,A] of images uint8 [B,C,H,W], with gradient."""
        return self.policy.scores(images)

    def outputs(self, images: Tensor) -> dict[str, Tensor]:
        """Those of the searched agent."""
        return self.policy.outputs(images)

    @property
    def theta(self) -> NDArray[np.float32]:
        """The searched weights in one vector, [D]: each layer's matrix by rows, then its bias."""
        parameters = [self.net.get_parameter(name) for name in self.names]
        return parameters_to_vector(parameters).detach().cpu().numpy()

    @theta.setter
    def theta(self, theta: NDArray[np.float32]) -> None:
        fill(self.net, self.names, theta)

    @classmethod
    def start(
        cls, config: ESConfig, init: Path | str | None = None, *, device: str = "cpu"
    ) -> "ESAgent":
        """The agent that a run starts from: a checkpoint's, or an untrained PPO2 with weights from
        torch's generator. Raises UserError if its net cannot be searched."""
        if init is None:
            own = {"levels": config.run.levels, "encoder": config.encoder, "hidden": config.hidden}
            name = "ppo2"
            policy: Any = find(name).build({**to_dict(config.env), **own}, device=device)
        else:
            name, policy = agent_of(init), load_agent(init, device=device)
            if isinstance(policy, ESAgent):
                name, policy = policy.config.searched[0]["agent"], policy.policy
            check(policy, config, name=name, source=init)
        searched = {"agent": name, "config": to_dict(policy.config)}
        return cls(policy, replace(config, searched=(searched,)))

    @classmethod
    def build(
        cls,
        config: Mapping[str, Any],
        weights: Mapping[str, Tensor] | None = None,
        *,
        device: str = "cpu",
    ) -> "ESAgent":
        """The agent with a checkpoint's config and its net's weights; untrained if there are no
        weights."""
        own = from_dict(ESConfig, config)
        if not own.searched:
            return cls.start(own, device=device)
        (searched,) = own.searched
        policy = find(searched["agent"]).build(searched["config"], weights, device=device)
        return cls(policy, own)


build, load = ESAgent.build, ESAgent.load


def check(policy: Any, config: ESConfig, *, name: str, source: Path | str) -> None:
    """Raises UserError if the net cannot be searched at all, or not by such a run."""
    layers = policy.net.named_modules() if isinstance(policy, ScoringPolicy) else ()
    if not any(layer.endswith("hidden") for layer, _ in layers):
        raise UserError(
            f"{source} is of agent {name!r}, whose net cannot be searched; give "
            "one of ppo2, rainbow, trpo, impala or es"
        )
    theirs, ours = policy.config.env.spec().family, config.env.spec().family
    if theirs != ours:
        raise UserError(
            f"{source} was trained on games of {theirs}, and these levels are of {ours}: give "
            f"--init '' for an untrained net, --init and a run on {ours}, or levels of {theirs}"
        )
    if policy.recurrent:
        raise UserError(f"{source} has a recurrent net; give one without")
    if config.layer == "head" and getattr(policy.config, "quantiles", False):
        raise UserError(f"{source} has quantiles, whose last layers cannot be searched: --layer fc")
    if config.draw_actions and not policy.logits:
        raise UserError(f"draw_actions is for policies with logits, not for the values of {source}")
    check_alike(policy.config.env, config.env, source=source)


def searched_names(policy: ScoringPolicy, layer: str) -> list[str]:
    """Names of the net's parameters that are searched. Of all behind the encoder that affect the
    scores (not noise or a critic's value), these are the fully connected layers' ("fc"), or those
    behind them ("head"). The net's first part is called `encoder`, and names of fully connected
    layers end in `hidden`."""
    net: Any = policy.net
    names = [name for name, _ in net.named_parameters() if not name.startswith("encoder.")]
    for name in names:
        net.get_parameter(name).requires_grad_(True)
    buffers = [(buffer, buffer.clone()) for buffer in net.buffers()]
    blank = torch.zeros(1, *net.encoder.image, dtype=torch.uint8)
    scores = policy.scores(blank.to(next(net.parameters()).device))
    parameters = [net.get_parameter(name) for name in names]
    found = torch.autograd.grad(scores.sum(), parameters, allow_unused=True)
    for buffer, before in buffers:  # running moments, which a pass with gradient changes
        buffer.copy_(before)
    used = [name for name, slope in zip(names, found, strict=True) if slope is not None]
    return [name for name in used if name.rpartition(".")[0].endswith("hidden") == (layer == "fc")]


def fill(net: nn.Module, names: Sequence[str], vector: NDArray[np.float32]) -> None:
    """Copy these numbers into the parameters, [D]."""
    parameters = [net.get_parameter(name) for name in names]
    values = torch.tensor(vector, device=parameters[0].device)
    vector_to_parameters(values, parameters)
