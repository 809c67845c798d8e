"""What are JERK's searches worth that need no pictures? Played in the engine, on this machine.

python -m benchmarks.jerk_search --levels bramble-train --steps 200000 --seeds 3
python -m benchmarks.jerk_search --only mutating --flags="--exploit-bias 0.5"

The game's engine equals the emulator step by step and takes a small part of its time. The rules
are the package's own, under the contest's: sticky actions, 4,500 steps an episode, the mean return
of all ended episodes. Only BrambleDash, and only presets without pictures.
"""

import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence
from random import Random

import numpy as np

from cartridge.levels.generator import all_acts
from cartridge.levels.references import STEP_LIMIT, STICK
from cartridge.levels.simulator import Simulator
from experiment.config import load_config
from experiment.errors import UserError, command
from experiment.ranges import Count
from jerk.config import JerkConfig
from jerk.learner import Shares, find_moves
from jerk.memory import Sequences
from jerk.play import Play, begin, finish
from jerk.train import PRESETS
from retro_env import parse_levels
from retro_env.config import SEVEN


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Search levels in the engine."""

    levels: str = "bramble-train"
    """Levels of BrambleDash."""
    steps: Count = 200_000
    """Agent steps of each search."""
    seeds: Count = 1
    """Searches of each preset on each level."""
    only: tuple[str, ...] = ("baseline", "mutating")
    """Presets of JERK."""
    flags: str = ""
    """Further settings of JERK. Write --flags='--exploit-bias 0.5'."""


def config_of(config: SearchConfig, preset: str, seed: int) -> JerkConfig:
    """JERK's config. UserError: it needs pictures."""
    argv = ["--preset", preset, "--seed", str(seed), "--timesteps", str(config.steps)]
    argv += shlex.split(config.flags)
    jerk = load_config(JerkConfig, argv, presets=PRESETS, command="benchmarks.jerk_search")
    if jerk.embeds or jerk.keeps_frames or jerk.needs_policy or jerk.actions != 7:
        raise UserError(f"preset {preset} needs pictures or other actions; give another one")
    return jerk


def search(simulator: Simulator, level: str, config: JerkConfig) -> list[float]:
    """The returns of all ended episodes of a search."""
    rng, luck = np.random.default_rng(config.seed), Random(f"{level}.{config.seed}")
    sequences, steps = Sequences(config.sequences), 0
    returns: list[float] = []
    while True:
        play = begin(level, sequences, rng, config=config, env_steps=steps)
        over = episode(simulator, play, rng, luck, config=config, most=config.timesteps - steps)
        steps += len(play.actions)
        if not over:
            return returns
        finish(play, sequences, config=config, cut=False)
        returns.append(sum(play.rewards))


def episode(
    simulator: Simulator,
    play: Play,
    rng: np.random.Generator,
    luck: Random,
    *,
    config: JerkConfig,
    most: int,
) -> bool:
    """Play an episode, at most so many steps -> whether it ended."""
    moves, shares = find_moves(SEVEN), Shares()
    status = simulator.start(play.level)
    while len(play.actions) < min(most, STEP_LIMIT) and not status.over:
        action, _ = play.next_action(rng, moves=moves, config=config, shares=shares)
        assert action is not None, "without shares the rule explores alone"
        before = status.score
        status = simulator.play((action,), stuck=(luck.random() < STICK,))[0]
        play.add(action, status.score - before)
    return status.over or len(play.actions) == STEP_LIMIT


@command
def main(argv: Sequence[str] | None = None) -> None:
    """One row per preset: mean over levels and seeds, and the means of the seeds."""
    words = sys.argv[1:] if argv is None else argv
    name = "python -m benchmarks.jerk_search"
    config = load_config(SearchConfig, words, presets=None, command=name)
    configs = {p: [config_of(config, p, seed) for seed in range(config.seeds)] for p in config.only}
    levels = [level.state for level in parse_levels(config.levels)]
    simulator = Simulator(all_acts())
    for preset, seeds in configs.items():
        means = [[np.mean(search(simulator, level, c)) for level in levels] for c in seeds]
        by_seed = [round(float(np.mean(row)), 1) for row in means]
        row = {"preset": preset, "flags": config.flags, "mean_return": float(np.mean(means))}
        print(json.dumps({**row, "seeds": by_seed}), flush=True)


if __name__ == "__main__":
    main()
