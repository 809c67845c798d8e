"""Players that no longer learn, as kinds of a study: on levels under the contest's rules.

python -m lab.studies.play --agent runs/joint --draws --levels bramble-test --run-dir runs/frozen
python -m lab.studies.play --sight --agent rainbow/pretrained --draws --run-dir runs/sight
"""

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from retro_agents.contract.policy import Play
from retro_agents.games.families import level_names, make
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import make_folder
from retro_agents.ground.ranges import Count, Natural, Seed
from retro_agents.judging.policies import load_policy
from retro_agents.judging.score import steps_of, unfinished_episodes
from retro_agents.judging.sight import PATIENCE, PLAYS
from retro_agents.judging.sight_report import check_testable, tested
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import replaced
from retro_agents.run.metrics import EpisodeLog


@dataclasses.dataclass(frozen=True)
class PlayConfig:
    """Play levels in turn, one episode each, or test whether the player uses what it sees."""

    agent: str = "random"
    """A checkpoint, run folder or shipped agent's name; or random, hold-right, run-and-jump."""
    draws: bool = False
    """Act stochastically, as while learning, instead of by the best action."""
    sight: bool = False
    """Play with its own frames, with those of other moments, and blind."""
    levels: str = "bramble-test"
    """Levels (RustCavern.Act2; GAME:STATE for one of no split) and splits (bramble-test),
    separated by commas; or a CSV with the columns game,state."""
    timesteps: Count = 10_000
    """Total agent steps, wherever the last episode is then; with --sight: per episode."""
    episodes: Natural = 0
    """Maximum number of episodes per level; 0: no limit. With --sight: per play; 0: ten."""
    episode_steps: Count = 4_500
    """Agent steps after which an episode is truncated, without --sight."""
    seed: Seed = 0
    """Seed of the environment and of the player."""
    run_dir: Path = Path("runs/frozen")
    """Folder for episodes.csv, and below it those of the other two plays of --sight."""

    @property
    def way(self) -> Play:
        """How the agent plays."""
        return "draw" if self.draws else "best"


def play(config: PlayConfig) -> None:
    """Write the episodes. Raises UserError if there is no such agent."""
    policy, settings = load_policy(config.agent, seed=config.seed)
    settings = replaced(settings.with_raw_rewards(), episode_steps=config.episode_steps)
    left = config.episodes * len(level_names(config.levels)) or math.inf
    new_run(config.run_dir)
    with (
        contextlib.closing(make(config.levels, settings, num_envs=1)) as envs,
        EpisodeLog(config.run_dir) as log,
    ):
        played = steps_of(policy, envs, seed=config.seed, play=config.way)
        for steps, ended in enumerate(played, start=1):
            for episode in ended:
                log.log(steps, 0, episode)
            left -= len(ended)
            if steps >= config.timesteps or left <= 0:
                break
        for cut in unfinished_episodes(envs) if not config.episodes else ():
            log.log(steps, 0, dataclasses.asdict(cut))


def play_sight(config: PlayConfig) -> None:
    """Write the episodes of all three plays. Raises UserError if there is no such agent, or if it
    uses no frames."""
    policy, settings = load_policy(config.agent, seed=config.seed)
    levels, episodes = level_names(config.levels), config.episodes or 10
    check_testable(policy, config.agent, levels=len(levels), episodes=episodes)
    settings = replaced(settings, episode_steps=config.timesteps)
    options = {"seed": config.seed, "play": config.way, "patience": PATIENCE}
    new_run(config.run_dir)
    sight = tested(policy, levels, settings, episodes=episodes, **options)
    for name in PLAYS:
        folder, steps = config.run_dir / ("" if name == PLAYS[0] else name), 0
        make_folder(folder)
        with EpisodeLog(folder) as log:
            for episode in sight.played[name]:
                steps += episode["l"]
                log.log(steps, episode["env"], episode)


def new_run(run_dir: Path) -> None:
    """Make a new run's folder. Raises UserError if it holds a run, or cannot be written."""
    if (run_dir / "episodes.csv").exists():
        raise UserError(f"{run_dir} already holds a run; give another --run-dir")
    make_folder(run_dir)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play as the command line says."""
    config = parse_command(PlayConfig, argv, command="python -m lab.studies.play")
    (play_sight if config.sight else play)(config)


if __name__ == "__main__":
    main()
