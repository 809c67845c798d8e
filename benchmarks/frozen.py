"""How far does a player come that learns nothing more? A score per level, each kept in a file.

python -m benchmarks.frozen --agent runs/joint --draws --out runs/frozen --name joint-draws
"""

import dataclasses
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.runs import kept_score
from contest.agents import Agent, Mode, load_policy
from contest.references import REFERENCES, Policy, reference
from contest.score import Score, play, score
from experiment.config import load_config
from experiment.errors import command
from experiment.ranges import Count, Natural
from retro_env import EnvConfig, Level, make_vec, parse_levels


@dataclasses.dataclass(frozen=True)
class FrozenConfig:
    """Play levels under contest rules without learning, and keep the scores."""

    agent: str = "random"
    """A checkpoint or run folder of ppo2, or random, hold-right, run-and-jump."""
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


def score_file(out: Path, level: Level, name: str, seed: int) -> Path:
    return out / level.state / f"{name}-{seed}.json"


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
        path = score_file(config.out, level, config.name, config.seed)
        found = kept_score(path, partial(play_level, config, level))
        print(f"{level.state}: {found.mean:,.0f}", flush=True)


if __name__ == "__main__":
    main()
