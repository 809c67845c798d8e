"""What JERK borrows from nets: an embedding of observations, and a policy that explores for it."""

import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from experiment.checkpoint import load_agent, load_checkpoint, save_checkpoint
from experiment.config import from_dict, subset, to_dict
from experiment.errors import UserError
from jerk.config import JerkConfig
from nets.encoders import Encoder, make_encoder
from nets.noisy import PlainLinear
from retro_env import EnvConfig

SIDE = 21
"""A frame's height and width before it is projected."""


class Policy(Protocol):
    """An agent of any package with a net: Rainbow's, PPO2's, or `FreshPolicy`."""

    net: nn.Module
    config: Any

    def act(self, obs: NDArray[np.uint8], *, explore: bool = False) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]."""
        ...

    def scores(self, images: Tensor) -> Tensor:
        """Images uint8 [B,C,H,W] -> [B,A] with gradient: logits, or values; larger is better."""
        ...


class FreshNet(nn.Module):
    """uint8 [B,C,H,W] -> logits [B,A]."""

    def __init__(self, encoder: Encoder, *, hidden: int, actions: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.hidden = PlainLinear(encoder.features, hidden)
        self.policy = PlainLinear(hidden, actions)

    def forward(self, images: Tensor) -> Tensor:
        return self.policy(torch.relu(self.hidden(self.encoder(images))))


class FreshPolicy:
    """A policy that knows nothing yet; it learns from JERK's best runs alone."""

    def __init__(self, config: JerkConfig, *, device: str = "cpu") -> None:
        self.config, self.device = config, torch.device(device)
        encoder = make_encoder(config.encoder, subset(config, EnvConfig).observation_shape)
        self.net: nn.Module = FreshNet(encoder, hidden=config.hidden, actions=config.actions)
        self.net.to(self.device)

    def scores(self, images: Tensor) -> Tensor:
        """Logits [B,A]."""
        logits: Tensor = self.net(images)
        return logits

    @torch.no_grad()
    def act(self, obs: NDArray[np.uint8], *, explore: bool = False) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]; exploring, drawn from the policy."""
        logits = self.scores(torch.from_numpy(obs).to(self.device))
        if explore:
            drawn = torch.multinomial(logits.softmax(dim=1).cpu(), 1)
            return drawn.squeeze(1).numpy()
        return logits.argmax(dim=1).cpu().numpy()


def make_policy(source: str, config: JerkConfig, *, device: str) -> Policy:
    """The policy in a checkpoint of any agent, or with "new" an untrained one.

    UserError: no good checkpoint, or one that sees or does other things than this run.
    """
    if source == "new":
        return FreshPolicy(config, device=device)
    saved = load_checkpoint(source)
    state: Any = {"agent": saved.agent, "config": saved.config}
    if saved.agent == "jerk":
        state = saved.state.get("policy")
    if state is None or "net" not in saved.tensors:
        raise UserError(f"{source} has no policy; give a checkpoint of an agent that has a net")
    policy = rebuild(state["agent"], state["config"], saved.tensors["net"], device=device)
    if getattr(policy.config, "recurrent", "none") != "none":
        raise UserError(f"{source} is recurrent, and JERK asks only now and then; give one without")
    theirs, ours = (subset(c, EnvConfig) for c in (policy.config, config))
    for name in ("observation_shape", "frame_stack", "frame_skip"):
        if getattr(theirs, name) != getattr(ours, name):
            raise UserError(
                f"{source} was trained with {name} {getattr(theirs, name)}, this run has "
                f"{getattr(ours, name)}; give the same image, colour, stack and skip"
            )
    if theirs.actions > ours.actions:
        raise UserError(
            f"{source} has {theirs.actions} actions, this run {ours.actions}; "
            f"give --actions {theirs.actions}"
        )
    return policy


def check_asked(source: str, config: JerkConfig) -> None:
    """UserError: a policy is given, and nothing in the config would ask it or write it out."""
    if not (config.needs_policy or config.write_replay):
        raise UserError(
            f"nothing would ask the policy in {source}: give --policy-share, --learn or --preset "
            "hybrid, or leave the policy out"
        )


def check_fits(policy: Policy, config: JerkConfig, *, trained: bool) -> None:
    """UserError: a part that the config switches on would do nothing, or harm, with this policy."""
    if config.policy_share > 0.0 and not trained and not config.learn:
        raise UserError("a new policy plays once it has learned; add --learn, or give --policy")
    if config.write_replay and is_rainbow(policy) and policy.config.actions != config.actions:
        raise UserError(
            f"the Rainbow behind JERK has {policy.config.actions} actions and cannot go on from "
            f"runs of {config.actions}; give the same --actions, or --no-write-replay"
        )


def is_rainbow(policy: Policy) -> bool:
    """Whether its net can go on as a Rainbow's."""
    return package_of(policy) == "rainbow"


def package_of(policy: Policy) -> str:
    """The package whose agent it is."""
    return type(policy).__module__.partition(".")[0]


def rebuild(
    agent: str, config: Mapping[str, Any], net: Mapping[str, Tensor], *, device: str
) -> Policy:
    """An agent of that package with that config and net, computing in fp32: it may learn."""
    if agent == "jerk":
        policy = FreshPolicy(from_dict(JerkConfig, config), device=device)
        policy.net.load_state_dict(net)
        return policy
    with tempfile.TemporaryDirectory() as folder:
        values = {**config, **({"precision": "fp32"} if "precision" in config else {})}
        saved = save_checkpoint(
            Path(folder),
            agent=agent,
            config=values,
            counters={"env_steps": 0},
            tensors={"net": net},
        )
        loaded: Policy = load_agent(saved, device=device)
    return loaded


def policy_state(policy: Policy | None) -> dict[str, Any] | None:
    """What a checkpoint says of a policy beside its net; `saved_policy` reads it."""
    if policy is None:
        return None
    return {"agent": package_of(policy), "config": to_dict(policy.config)}


def saved_policy(
    state: Mapping[str, Any] | None, tensors: Mapping[str, Mapping[str, Tensor]], *, device: str
) -> Policy | None:
    """The policy in a JERK checkpoint, if it has one."""
    if state is None:
        return None
    return rebuild(state["agent"], state["config"], tensors["net"], device=device)


class Embedder:
    """Observations uint8 [N,C,H,W] -> unit vectors float32 [N,D]: near for what looks alike.

    Features of a policy's encoder as it was at the start (a frozen copy: what is stored stays
    comparable while the policy learns), or without one the newest and the oldest frame in small;
    their mean taken off; then a fixed random projection.
    """

    def __init__(self, encoder: Encoder | None, *, config: JerkConfig, device: str) -> None:
        self.channels = subset(config, EnvConfig).channels
        self.device = torch.device(device)
        self.encoder = None
        inputs = 2 * SIDE * SIDE * self.channels
        if encoder is not None:
            self.encoder = copy.deepcopy(encoder).requires_grad_(False)
            inputs = encoder.features
        # Not the run's seed: memories of several runs are comparable.
        rng = np.random.default_rng(0)
        matrix = rng.standard_normal((inputs, config.embedding), np.float32)
        self.matrix = matrix / np.float32(np.sqrt(inputs))

    def __call__(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        seen = self.features(obs)
        projected = (seen - seen.mean(axis=1, keepdims=True)) @ self.matrix
        length = np.sqrt(np.einsum("nd,nd->n", projected, projected))
        unit: NDArray[np.float32] = projected / np.maximum(length, np.float32(1e-6))[:, None]
        return unit

    def features(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        """[N,C,H,W] -> [N,inputs]."""
        if self.encoder is not None:
            with torch.no_grad():
                found: NDArray[np.float32] = (
                    self.encoder(torch.from_numpy(obs).to(self.device)).float().cpu().numpy()
                )
            return found
        last = obs.shape[1] - self.channels
        small = [
            cv2.resize(frame, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
            for image in obs
            for frame in (*image[: self.channels], *image[last:])
        ]
        return np.asarray(small, np.float32).reshape(len(obs), -1) / np.float32(255.0)
