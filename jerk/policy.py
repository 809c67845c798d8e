"""What JERK sees with: an embedding of observations, and another agent's policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import cv2
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from jerk.config import JerkConfig
from retro_agents.contract.policy import ScoringPolicy
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import check_alike, find
from retro_agents.run.checkpoint import Checkpoint
from retro_agents.run.config import flat

SIDE = 21
"""A frame's height and width before it is projected."""
EMBEDDING = 128
"""Numbers that an observation is remembered by."""


@final
@dataclass
class BackingPolicy:
    """Who plays for JERK, and where it is from."""

    actor: ScoringPolicy
    package: str
    """Whose agent it is."""
    config: dict[str, Any]
    """As it came."""

    def state(self) -> dict[str, Any]:
        """All of it but the weights, for msgpack."""
        return {"package": self.package, "config": self.config}


def policy_of(saved: Checkpoint, *, device: str) -> BackingPolicy | None:
    """The agent in a checkpoint of any package; in one of JERK, who stood behind that. None where
    there is no net."""
    state: Any = {"package": saved.agent, "config": saved.config}
    if saved.agent == "jerk":
        saved.config_as(JerkConfig)  # UserError: of another version, whose policy may have learned
        state = saved.state["policy"]
    if state is None or "net" not in saved.tensors:
        return None
    actor = build(state["package"], state["config"], saved.tensors["net"], device=device)
    return BackingPolicy(actor, **state)


def build(
    package: str, config: Mapping[str, Any], net: Mapping[str, Tensor], *, device: str
) -> ScoringPolicy:
    """An agent of that package with that config and net, computing in fp32."""
    values = flat(config)
    if "precision" in values:
        values["precision"] = "fp32"
    built: Any = find(package).build(values, net, device=device)
    return built


def taken_policy(saved: Checkpoint, config: JerkConfig, *, device: str) -> BackingPolicy:
    """The policy in a checkpoint, to play in a run of that config.

    UserError: it has none, or one that sees or does other things than this run, or nobody would
    ask it.
    """
    source, policy = saved.folder, policy_of(saved, device=device)
    if policy is None:
        raise UserError(f"{source} has no policy; give a checkpoint of an agent that has a net")
    if policy.actor.recurrent:
        raise UserError(f"{source} is recurrent, and JERK asks only now and then; give one without")
    check_alike(policy.actor.config.env, config.env, source=source, wider=True)
    if not (config.policy_replays or config.write_replay):
        raise UserError(
            f"nothing would ask the policy in {source}: give --policy-replays or --preset hybrid, "
            "or leave the policy out"
        )
    return policy


def check_fits(policy: BackingPolicy, config: JerkConfig) -> None:
    """UserError: the policy, which a replay is written beside, could not go on from its runs."""
    theirs, ours = policy.actor.config.env.spec().actions, config.env.spec().actions
    if config.write_replay and theirs != ours:
        raise UserError(
            f"the policy has {theirs} actions and cannot go on from runs of {ours}; "
            "give the same --actions, or --no-write-replay"
        )


class Embedder:
    """Observations uint8 [N,C,H,W] -> unit vectors float32 [N,D]: near for what looks alike.

    The newest and the oldest frame in small, their mean taken off; then a fixed random projection.
    """

    def __init__(self, config: JerkConfig) -> None:
        self.channels = config.env.spec().channels
        inputs = 2 * SIDE * SIDE * self.channels
        # Not the run's seed: memories of several runs are comparable.
        rng = np.random.default_rng(0)
        matrix = rng.standard_normal((inputs, EMBEDDING), np.float32)
        self.matrix = matrix / np.float32(np.sqrt(inputs))

    def __call__(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        seen = self.features(obs)
        projected = (seen - seen.mean(axis=1, keepdims=True)) @ self.matrix
        length = np.sqrt(np.einsum("nd,nd->n", projected, projected))
        return projected / np.maximum(length, np.float32(1e-6))[:, None]

    def features(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        """[N,C,H,W] -> [N,inputs]."""
        last = obs.shape[1] - self.channels
        small = [
            cv2.resize(frame, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
            for image in obs
            for frame in (*image[: self.channels], *image[last:])
        ]
        return np.asarray(small, np.float32).reshape(len(obs), -1) / np.float32(255.0)
