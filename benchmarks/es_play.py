"""Whole episodes of a policy as Evolution Strategies plays it, before and after it was searched.

python -m benchmarks.es_play --agent runs/ppo2 --draws --levels bramble-test --out ppo2-draws.json
"""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.runs import flags_of, is_kept, keep_arguments
from contest.score import Episode
from es.agent import ESAgent
from es.config import ESConfig
from es.emulators import Emulators
from es.memory import Noise, Plan
from es.mpi import Alone
from es.play import Player
from experiment.config import load_config, subset
from experiment.device import prepare_device
from experiment.errors import UserError, command
from experiment.files import write_json
from experiment.ranges import Count, Natural
from retro_env import EnvConfig, parse_levels


@dataclasses.dataclass(frozen=True)
class PlayConfig:
    """Play so many episodes of each level without learning, and keep them."""

    agent: str = ""
    """A checkpoint or run folder of ppo2, rainbow or es."""
    draws: bool = False
    """Draw actions from the policy, instead of its best one."""
    levels: str = "bramble-test"
    """A split, a CSV with columns game,state, or GAME:STATE[,GAME:STATE...]."""
    episodes: Count = 3
    """On each level."""
    episode_steps: Natural = 1_500
    """Agent steps after which an episode is cut."""
    num_envs: Count = 4
    """Emulators; an episode's chance does not depend on it."""
    seed: Natural = 0
    """Of the episodes' chance: the same for all policies."""
    out: Path = Path("runs/es-play.json")
    """A list of episodes goes here; one that is there stays."""


def play(config: PlayConfig) -> list[Episode]:
    """The episodes, by repeat and level."""
    if not config.agent:
        raise UserError("no --agent; give a checkpoint or run folder")
    prepare_device("cpu", threads=1)
    agent = ESAgent.start(ESConfig(device="cpu", draw_actions=config.draws), config.agent)
    levels = parse_levels(config.levels)
    stage = Emulators(
        levels,
        num_envs=config.num_envs,
        config=subset(agent.config, EnvConfig),
    )
    plan = Plan(
        seed=config.seed,
        generation=0,
        pairs=0,
        slots=tuple(range(len(levels))),
        evaluations=config.episodes,
        steps=config.episode_steps,
    )
    try:
        player = Player(stage, agent, noise=Noise(0, ()))
        records, _ = player.play(plan, Alone(), theta=agent.theta, sigma=0.0, budget=0)
    finally:
        stage.close()
    return [
        Episode(
            level=str(levels[plan.task(int(record["task"])).slot]),
            r=float(record["r"]),
            l=int(record["steps"]),
            progress=float(record["progress"]),
            finished=bool(record["finished"]),
        )
        for record in sorted(records, key=lambda record: int(record["task"]))
    ]


def arguments_of(config: PlayConfig) -> list[str]:
    """What episodes are made with, wherever they lie; OUT is two folders deep beside its agents."""
    agent = config.agent.removeprefix(f"{config.out.parent.parent}/")
    return flags_of(dataclasses.replace(config, agent=agent), without=("out", "num_envs"))


def is_played(config: PlayConfig) -> bool:
    """Whether the episodes are there. UserError: others are."""
    return is_kept(config.out, arguments_of(config))


def read(path: Path) -> list[Episode]:
    """What `main` has kept."""
    return [Episode(**one) for one in json.loads(path.read_text())]


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play, unless that was done before."""
    words = sys.argv[1:] if argv is None else argv
    config = load_config(PlayConfig, words, presets=None, command="python -m benchmarks.es_play")
    if is_played(config):
        return
    episodes = play(config)
    keep_arguments(config.out, arguments_of(config))
    write_json(config.out, [dataclasses.asdict(one) for one in episodes])


if __name__ == "__main__":
    main()
