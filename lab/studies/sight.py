"""Does a player see? Plays levels that it does not learn on by its own pictures, by those of other
moments, and by draws of its own action frequencies.

python -m lab.studies.sight --agent rainbow/pretrained --draws --run-dir runs/sight
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from retro_agents.games.families import level_names
from retro_agents.ground.errors import command
from retro_agents.ground.files import make_folder
from retro_agents.ground.ranges import Count, Seed
from retro_agents.judging.policies import load_policy
from retro_agents.judging.sight import PATIENCE, PLAYS
from retro_agents.judging.sight_report import check_testable, tested
from retro_agents.run.config import parse_command, replaced
from retro_agents.run.metrics import EpisodeLog
from retro_agents.sweeps.study import new_run


@dataclasses.dataclass(frozen=True)
class SightConfig:
    """Test whether a player sees that learns nothing more."""

    agent: str
    """A checkpoint, run folder or shipped agent's name."""
    draws: bool = False
    """Act as it does while it learns, such as by draws from its policy."""
    levels: str = "bramble-test"
    """Splits and GAME:STATE with commas between, or a CSV with columns game,state."""
    timesteps: Count = 4_500
    """Agent steps after which an episode is cut."""
    episodes: Count = 10
    """Episodes on each level, of each of the three plays."""
    seed: Seed = 0
    """Of the environments and of the player's chance."""
    run_dir: Path = Path("runs/sight")
    """episodes.csv of its own pictures goes here, those of the others below."""


def play(config: SightConfig) -> None:
    """Write the episodes. UserError: there is no such agent, or it looks at nothing."""
    policy, settings = load_policy(config.agent, seed=config.seed)
    levels = level_names(config.levels)
    check_testable(policy, config.agent, levels=len(levels), episodes=config.episodes)
    new_run(config.run_dir)
    settings = replaced(settings, episode_steps=config.timesteps)
    sight = tested(
        policy,
        levels,
        settings,
        episodes=config.episodes,
        seed=config.seed,
        explore=config.draws,
        patience=PATIENCE,
    )
    for name in PLAYS:
        folder, steps = config.run_dir / ("" if name == PLAYS[0] else name), 0
        make_folder(folder)
        with EpisodeLog(folder) as log:
            for episode in sight.played[name]:
                steps += episode["l"]
                log.log(steps, episode["env"], episode)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Test as the command line says."""
    play(parse_command(SightConfig, argv, command="python -m lab.studies.sight"))


if __name__ == "__main__":
    main()
