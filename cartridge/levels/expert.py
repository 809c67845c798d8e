"""The robust oracle as an expert for agents to learn from: it names an action in any state.

It reads the game's variables, which no agent may. So it advises only on training acts, and refuses
the held-out ones."""

from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from cartridge.levels import oracle
from cartridge.levels.cells import Act
from cartridge.levels.console import Status
from cartridge.levels.fresh import acts_of, proofs_of
from cartridge.levels.library import Library, Memory
from cartridge.levels.robust import Builder
from cartridge.levels.simulator import Simulator
from cartridge.levels.splits import held_out
from cartridge.levels.zones import name_of
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.ground.errors import UserError

PRACTICE = 20
"""Episodes of practice on an act, before its first advice there."""
EFFORT = {
    oracle.JUMP: 40.0,
    oracle.LEFT: 40.0,
    oracle.ROLL: 60.0,
    oracle.DASH: 100.0,
    oracle.DOWN: 150.0,
}
"""Cost in pixels of starting an action in a search. Without it the oracle dashes and jumps wherever
that costs no time, which an agent cannot learn from pictures."""
BUDGET = 6_000
"""Expansions of the search, after which the act's proof is used instead."""
UNKNOWN = -1
"""No action: the library has no similar state."""


class Expert:
    """Advises on the rows of one native vector environment, step by step."""

    def __init__(self, levels: Sequence[Level], config: EnvConfig, *, practice: int = PRACTICE):
        """levels: all that will be played. Raises UserError if it has no knowledge of one, may not
        advise on it, or plays by other rules."""
        check(levels, config)
        self.practice = practice
        self.acts = {
            f"{game}:{name_of(act)}": act
            for game in {level.game for level in levels}
            for act in acts_of(game)
        }
        self.libraries: dict[str, Library] = {}
        self.memories: dict[int, Memory] = {}

    def actions(self, envs: NativeVectorEnv) -> NDArray[np.int64]:
        """Returns its action in each row now [N], or UNKNOWN. Must be called before every step."""
        return np.array([self.action(envs, row) for row in range(envs.num_envs)])

    def action(self, envs: NativeVectorEnv, row: int) -> int:
        """Returns its action in one row."""
        part, index = envs.row(row)
        game = part.games.game[index]
        status = Status.of(part.games.variables(index))
        before = self.memories.get(row, Memory()) if game["steps"] else None
        memory = Memory() if before is None else before.after(int(game["action"]), status)
        self.memories[row] = memory
        advice = self.library(envs.levels[row]).find(status, memory)
        return UNKNOWN if advice is None else advice.action

    def library(self, level: str) -> Library:
        """The library of a level, which is built on first use."""
        if level not in self.libraries:
            self.libraries[level] = practised(self.acts[level], level, episodes=self.practice)
        return self.libraries[level]


def practised(act: Act, level: str, *, episodes: int) -> Library:
    """The library of an act after `episodes` episodes of practice."""
    simulator = Simulator([act])
    try:
        plan = oracle.plan(simulator, act, budget=BUDGET, effort=EFFORT)
    except UserError:  # the search is stuck
        plan = oracle.read_proof(name_of(act), folder=proofs_of(level.partition(":")[0]))
    builder = Builder(simulator, act, Random(f"{level}.practice"), effort=EFFORT)
    return builder.build(plan, episodes=episodes)


def check(levels: Sequence[Level], config: EnvConfig) -> None:
    """Raises UserError if there is no expert for these levels or settings, or it may not advise."""
    test_acts = held_out()
    for level in levels:
        if not level.game.startswith("BrambleDash"):
            raise UserError(f"there is no expert for {level.game}: give levels of BrambleDash")
        if level.game == GAME and level.state in test_acts:
            raise UserError(
                f"{level.state} is held out, so no agent may learn from an expert there: give "
                "--levels bramble-train"
            )
    if (config.actions, config.frame_skip, config.backend) != (7, 4, "native"):
        raise UserError(
            "the expert plays the contest's seven actions of four frames, natively: leave out "
            "--actions, --frame-skip and --backend"
        )
