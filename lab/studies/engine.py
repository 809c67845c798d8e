"""JERK in the game's own engine on this machine: its searches that need no pictures.

python -m lab.studies.engine --preset mutating --levels bramble-train --timesteps 200000

The engine equals the emulator step by step. The rules are the package's own, under the contest's:
sticky actions, 4,500 steps an episode. Chance is that of the contest too: a level's episodes are
those of `retro_agents.contest.run` with the same seed. Only BrambleDash, and cartridges that
`python -m cartridge.levels new` made; --timesteps are those of each level.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gymnasium.utils.seeding import np_random

from cartridge.levels.console import Status
from cartridge.levels.fresh import acts_of
from cartridge.levels.references import STEP_LIMIT, STICK
from cartridge.levels.simulator import Simulator
from jerk.config import JerkConfig
from jerk.learner import Moves, Shares, find_moves
from jerk.memory import Sequences
from jerk.play import Play, begin, finish
from jerk.train import parse
from retro_agents.contract.envs import row_seeds
from retro_agents.games.families import level_names
from retro_agents.games.retro.config import SEVEN
from retro_agents.ground.errors import UserError, command
from retro_agents.run.command_line import flag_with
from retro_agents.run.config import flat, to_dict
from retro_agents.run.metrics import EpisodeLog
from retro_agents.sweeps.study import new_run, short

FIXED = {
    **dict.fromkeys(("resume", "record", "backtracking"), False),
    **dict.fromkeys(("init", "policy", "track"), ""),
    **dict.fromkeys(("rotate_every", "video_every"), 0),
    "num_envs": 1,
    "scenario": "contest",
    "frame_skip": 4,
    "stick_probability": STICK,
    "episode_steps": STEP_LIMIT,
}
"""Settings of JERK that the engine has in one way."""


def search(simulator: Simulator, level: str, config: JerkConfig, log: EpisodeLog) -> None:
    """Search a level; its ended episodes go to the log."""
    rng = np.random.default_rng(config.run.seed)
    luck, _ = np_random(row_seeds(config.run.seed, 1)[0])
    sequences, steps = Sequences(config.sequences), 0
    moves = find_moves(config.env.spec().action_names)
    while True:
        play = begin(level, sequences, rng, moves=moves, config=config, env_steps=steps)
        most = config.run.timesteps - steps
        end = episode(simulator, play, sequences, rng, luck, moves=moves, config=config, most=most)
        steps += len(play.actions)
        if not (end.over or len(play.actions) == STEP_LIMIT):
            return
        finish(play, sequences, config=config, cut=False)
        row = {"level": level, "kind": play.kind, "r": sum(play.rewards), "l": len(play.actions)}
        row |= {"progress": end.progress / end.length, "finished": end.finished}
        log.log(steps, 0, row)


def episode(
    simulator: Simulator,
    play: Play,
    sequences: Sequences,
    rng: np.random.Generator,
    luck: np.random.Generator,
    *,
    moves: Moves,
    config: JerkConfig,
    most: int,
) -> Status:
    """Play an episode, at most so many steps -> where it ended."""
    shares = Shares()
    status = simulator.start(play.level)
    while len(play.actions) < min(most, STEP_LIMIT) and not status.over:
        action, _ = play.next_action(
            rng, moves=moves, config=config, shares=shares, sequences=sequences
        )
        assert action is not None, "without shares the rule explores alone"
        before = status.score
        sticks = bool(play.actions) and luck.random() <= STICK  # nothing was held before the first
        status = simulator.play((action,), stuck=(sticks,))[0]
        play.add(action, status.score - before)
    return status


def check(config: JerkConfig) -> None:
    """UserError: the engine does not play so."""
    wider = config.env.spec().action_names != SEVEN
    if config.memory_share or config.write_replay or config.policy_replays or wider:
        raise UserError("these settings of JERK need pictures or other actions; give others")
    values = flat(to_dict(config))
    for name, ours in FIXED.items():
        if values[name] != ours:
            raise UserError(
                f"{name} is {values[name]!r}, and the engine plays with {ours!r} alone: give "
                f"{flag_with(name, ours)}, or use python -m jerk.train"
            )


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Search all levels, one after the other. UserError: the settings ask for more."""
    config = parse(argv)
    check(config)
    levels = level_names(config.run.levels)
    games = dict.fromkeys(name.rpartition(":")[0] for name in levels)
    simulators = {game: Simulator(acts_of(game)) for game in games}
    new_run(Path(config.run.run_dir))
    with EpisodeLog(config.run.run_dir) as log:
        for name in levels:
            search(simulators[name.rpartition(":")[0]], short(name), config, log)


if __name__ == "__main__":
    main()
