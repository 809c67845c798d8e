"""How far does a player come that learns nothing more? Plays levels under contest rules.

python -m lab.studies.play --agent runs/joint --draws --levels bramble-test --run-dir runs/frozen
"""

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from retro_agents.games.families import level_names, make
from retro_agents.ground.errors import command
from retro_agents.ground.ranges import Count, Natural, Seed
from retro_agents.judging.policies import load_policy
from retro_agents.judging.score import steps_of, unfinished_episodes
from retro_agents.run.config import parse_command, replaced
from retro_agents.run.metrics import EpisodeLog
from retro_agents.sweeps.study import new_run


@dataclasses.dataclass(frozen=True)
class PlayConfig:
    """Play levels in turn, one episode each, without learning."""

    agent: str = "random"
    """A checkpoint or run folder; or random, hold-right, run-and-jump."""
    draws: bool = False
    """Act as it does while it learns, such as by draws from its policy."""
    levels: str = "bramble-test"
    """Splits and GAME:STATE with commas between, or a CSV with columns game,state."""
    timesteps: Count = 10_000
    """Agent steps in all; the episode under way then counts with what it reached."""
    episodes: Natural = 0
    """Episodes on each level, after which it ends before that; 0: as many as there are."""
    episode_steps: Count = 4_500
    """Agent steps after which an episode is cut."""
    seed: Seed = 0
    """Of the environment and of the player's chance."""
    run_dir: Path = Path("runs/frozen")
    """Its episodes.csv goes here."""


def play(config: PlayConfig) -> None:
    """Write the episodes. UserError: there is no such agent."""
    policy, settings = load_policy(config.agent, seed=config.seed)
    settings = replaced(settings.with_raw_rewards(), episode_steps=config.episode_steps)
    left = config.episodes * len(level_names(config.levels)) or math.inf
    new_run(config.run_dir)
    with (
        contextlib.closing(make(config.levels, settings, num_envs=1)) as envs,
        EpisodeLog(config.run_dir) as log,
    ):
        played = steps_of(policy, envs, seed=config.seed, explore=config.draws)
        for steps, ended in enumerate(played, start=1):
            for episode in ended:
                log.log(steps, 0, episode)
            left -= len(ended)
            if steps >= config.timesteps or left <= 0:
                break
        for cut in unfinished_episodes(envs) if not config.episodes else ():
            log.log(steps, 0, dataclasses.asdict(cut))


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play as the command line says."""
    play(parse_command(PlayConfig, argv, command="python -m lab.studies.play"))


if __name__ == "__main__":
    main()
