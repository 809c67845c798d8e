"""Policies that play without learning: a reference player, or the agent in a checkpoint."""

import dataclasses

from retro_agents.contract.envs import EnvSettings
from retro_agents.contract.policy import Play, Policy
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.fields import fields


def load_policy(source: str, *, seed: int, device: str = "cpu") -> tuple[Policy, EnvConfig]:
    """A reference player by its name, or the agent in a checkpoint, which does not learn, and the
    settings that it acts in. Raises UserError if there is none.
    """
    if source in REFERENCES:
        return REFERENCES[source](seed), EnvConfig()
    from retro_agents.ground.device import prepare_device  # torch takes seconds to import
    from retro_agents.ground.seeding import seed_everything

    seed_everything(seed)
    loaded = load_agent(source, device=str(prepare_device(device, threads=1)))
    return loaded, contest_settings(loaded.config.env)


def check_play(source: str, play: Play | None) -> None:
    """Raises UserError if a way to play is given for a reference player, which has only its own."""
    if play is not None and source in REFERENCES:
        raise UserError(f"{source} has no other way to play: leave out --play")


def contest_settings(env: EnvSettings) -> EnvConfig:
    """The agent's observations under the contest's rules. Raises UserError if it was trained on
    other games, or with another frame skip."""
    rules = EnvConfig()
    if not isinstance(env, EnvConfig):
        raise UserError(
            f"the agent plays levels of {env.spec().family}, and the contest has others; "
            "`retro-agents procgen evaluate` judges it"
        )
    if env.frame_skip != rules.frame_skip:
        raise UserError(
            f"the agent was trained with --frame-skip {env.frame_skip}, and the contest has "
            f"{rules.frame_skip}: train it with that"
        )
    own = {name: getattr(rules, name) for name in fields(rules, "rules")}
    return dataclasses.replace(env, **own)
