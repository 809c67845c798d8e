"""How far does a player come that learns nothing more? A score per level, each kept in a file.

python -m benchmarks.frozen --agent runs/joint --draws --out runs/frozen --name joint-draws
"""

import dataclasses
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.runs import flags_of, is_kept, kept_score
from contest.match.agents import Agent, Mode, load_policy
from contest.match.references import REFERENCES, Policy, reference
from contest.match.score import Score, play, score
from experiment.config import load_config
from experiment.errors import command
from experiment.ranges import Count, Natural
from retro_env import EnvConfig, Level, make_vec, parse_levels


@dataclasses.dataclass(frozen=True)
class FrozenConfig:
    """Play levels under contest rules without learning, and keep the scores."""

    agent: str = "random"
    """A checkpoint or run folder of ppo2 or benchmarks.sb3_ppo; or random, hold-right,
    run-and-jump."""
    draws: bool = False
    """Draw actions from the policy, instead of its most probable one."""
    levels: str = "bramble-test"
    """A split, a CSV with columns game,state, or GAME:STATE[,GAME:STATE...]."""
    steps: Count = 10_000
    """Agent steps on each level."""
    seed: Natural = 0
    """Of the environment and of the player's chance."""
    out: Path = Path("runs/frozen")
    """Scores go to OUT/STATE/NAME-SEED.json; those that are there stay."""
    name: str = "random"
    """What the player is called."""


def score_file(config: FrozenConfig, level: Level) -> Path:
    return config.out / level.state / f"{config.name}-{config.seed}.json"


def arguments_of(config: FrozenConfig, level: Level) -> list[str]:
    """What the score of one level is made with, wherever it lies."""
    agent = config.agent.removeprefix(f"{config.out.parent}/")
    return flags_of(
        dataclasses.replace(config, agent=agent, levels=str(level)), without=("out", "name")
    )


def is_played(config: FrozenConfig, level: Level) -> bool:
    """Whether a level has its score. UserError: it was made with other settings."""
    return is_kept(score_file(config, level), arguments_of(config, level))


def level_score(config: FrozenConfig, level: Level) -> Score:
    """The score of one level, played unless that was done before."""
    play_here = partial(play_level, config, level)
    return kept_score(score_file(config, level), play_here, arguments_of(config, level))


def player(config: FrozenConfig) -> tuple[Policy, EnvConfig]:
    """Who plays, and the settings that it acts in."""
    if config.agent in REFERENCES:
        return reference(config.agent, seed=config.seed), EnvConfig()
    mode: Mode = "explore" if config.draws else "frozen"
    return load_policy(Agent("ppo2", config.agent, mode, device="cpu"), seed=config.seed)


def play_level(config: FrozenConfig, level: Level) -> Score:
    """The score of one level."""
    policy, settings = player(config)
    envs = make_vec([level], num_envs=1, config=dataclasses.replace(settings, backtracking=False))
    try:
        return score(config.name, play(policy, envs, config.steps, seed=config.seed))
    finally:
        envs.close()


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play the levels that have no score yet."""
    words = sys.argv[1:] if argv is None else argv
    config = load_config(FrozenConfig, words, presets=None, command="python -m benchmarks.frozen")
    for level in parse_levels(config.levels):
        print(f"{level.state}: {level_score(config, level).mean:,.0f}", flush=True)


if __name__ == "__main__":
    main()
