"""Another agent's policy behind JERK."""

from dataclasses import dataclass
from typing import Any, final

from jerk.config import JerkConfig
from retro_agents.contract.policy import ScoringPolicy
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import check_alike, find
from retro_agents.run.checkpoint import Checkpoint
from retro_agents.run.config import flat


@final
@dataclass
class BackingPolicy:
    """The policy that plays for JERK, and its origin."""

    actor: ScoringPolicy
    package: str
    """Name of its agent's package."""
    config: dict[str, Any]
    """The config in its checkpoint, with the precision that it was trained in."""


def policy_of(saved: Checkpoint, *, device: str) -> BackingPolicy | None:
    """The agent in a checkpoint of any package, or the policy behind one of JERK, computing in
    fp32. None if there is no net that scores actions."""
    state: Any = {"package": saved.agent, "config": saved.config}
    if saved.agent == "jerk":
        saved.config_as(JerkConfig)  # raises UserError for another version's
        state = saved.state["policy"]
    if state is None or "net" not in saved.tensors:
        return None
    values = flat(state["config"])
    if "precision" in values:
        values["precision"] = "fp32"
    actor: Any = find(state["package"]).build(values, saved.tensors["net"], device=device)
    return BackingPolicy(actor, **state) if isinstance(actor, ScoringPolicy) else None


def taken_policy(saved: Checkpoint, config: JerkConfig, *, device: str) -> BackingPolicy:
    """The policy in a checkpoint, for a run of that config.

    Raises UserError if it has none, if its observations or actions differ from the run's, or if the
    run would never use it.
    """
    source, policy = saved.folder, policy_of(saved, device=device)
    if policy is None:
        raise UserError(f"{source} has no policy; give a checkpoint of an agent that has a net")
    if policy.actor.recurrent:
        raise UserError(f"{source} is recurrent, but JERK skips steps; give one that is not")
    check_alike(policy.actor.config.env, config.env, source=source, wider=True)
    if not (config.needs_policy or config.write_replay):
        raise UserError(
            f"nothing would use the policy in {source}: give --policy-share, --policy-replays or a "
            "preset that has one (hybrid, entry), or leave the policy out"
        )
    return policy
