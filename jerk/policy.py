"""What JERK borrows from nets: an embedding of observations, and a policy that explores for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import cv2
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from experiment.checkpoint import Checkpoint, kept_settings
from experiment.config import flat, to_dict
from experiment.errors import UserError
from experiment.package import ScoringPolicy, check_alike, find
from jerk.config import JerkConfig

SIDE = 21
"""A frame's height and width before it is projected."""


@final
@dataclass
class Policy:
    """Who plays for JERK and learns from its best runs, and where it is from."""

    actor: ScoringPolicy
    package: str
    """Whose agent it is."""
    config: dict[str, Any]
    """As it came."""
    given: Mapping[str, Tensor]
    """Its net as it came; empty of a new one. What it learns here makes scores of a Rainbow's
    values, with which no Rainbow could go on."""
    knows: bool
    """Whether it was trained, here or before: another one walks nowhere."""

    def tensors(self) -> dict[str, Mapping[str, Tensor]]:
        """Its nets, for a checkpoint from which `policy_of` makes it."""
        nets: dict[str, Mapping[str, Tensor]] = {"net": self.actor.net.state_dict()}
        return {**nets, "given": self.given} if self.given else nets

    def state(self) -> dict[str, Any]:
        """All else, for msgpack."""
        return {"package": self.package, "config": self.config, "knows": self.knows}


def new_policy(config: JerkConfig, *, device: str) -> Policy:
    """An untrained one: PPO2's."""
    own = {"levels": config.run.levels, "encoder": config.encoder, "hidden": config.hidden}
    values = {**to_dict(config.env), **own, "precision": "fp32"}
    actor: Any = find("ppo2").build(values, device=device)
    return Policy(actor, "ppo2", kept_settings(actor.config), {}, knows=False)


def policy_of(saved: Checkpoint, *, device: str) -> Policy | None:
    """The agent in a checkpoint of any package; in one of JERK, who stood behind that. None where
    there is no net."""
    state: Any = {"package": saved.agent, "config": saved.config, "knows": True}
    given = saved.tensors.get("net", {})
    if saved.agent == "jerk":
        state, given = saved.state.get("policy"), saved.tensors.get("given", {})
    if state is None or "net" not in saved.tensors:
        return None
    actor = build(state["package"], state["config"], saved.tensors["net"], device=device)
    return Policy(actor, given=given, **state)


def build(
    package: str, config: Mapping[str, Any], net: Mapping[str, Tensor], *, device: str
) -> ScoringPolicy:
    """An agent of that package with that config and net, computing in fp32: it may learn."""
    values = flat(config)
    if "precision" in values:
        values["precision"] = "fp32"
    built: Any = find(package).build(values, net, device=device)
    return built


def taken_policy(saved: Checkpoint, config: JerkConfig, *, device: str) -> Policy:
    """The policy in a checkpoint, to play in a run of that config.

    UserError: it has none, or one that sees or does other things than this run, or nobody would
    ask it.
    """
    source, policy = saved.folder, policy_of(saved, device=device)
    if policy is None:
        raise UserError(f"{source} has no policy; give a checkpoint of an agent that has a net")
    theirs: Any = policy.actor.config
    if getattr(theirs, "recurrent", "none") != "none":
        raise UserError(f"{source} is recurrent, and JERK asks only now and then; give one without")
    check_alike(theirs.env, config.env, source=source, wider=True)
    if not (config.needs_policy or config.write_replay):
        raise UserError(
            f"nothing would ask the policy in {source}: give --policy-share, --policy-replays, "
            "--learn or --preset hybrid, or leave the policy out"
        )
    return policy


def check_fits(policy: Policy, config: JerkConfig) -> None:
    """UserError: a part that the config switches on would do nothing, or harm, with this policy."""
    if config.policy_plays and not policy.knows and not config.learn:
        raise UserError("a new policy plays once it has learned; add --learn, or give --policy")
    theirs, ours = policy.actor.config.env.spec().actions, config.env.spec().actions
    if config.write_replay and policy.given and theirs != ours:
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
        last = obs.shape[1] - self.channels
        small = [
            cv2.resize(frame, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
            for image in obs
            for frame in (*image[: self.channels], *image[last:])
        ]
        return np.asarray(small, np.float32).reshape(len(obs), -1) / np.float32(255.0)
