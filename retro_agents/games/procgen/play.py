"""Play Procgen yourself: `retro-agents procgen play coinrun` opens a window.

The arrows move; D, A, W, S, Q and E are the game's other keys; N starts another level, Escape ends.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from retro_agents.contract.envs import ended_episodes
from retro_agents.games.procgen.config import COLOURS, SIZE, ProcgenConfig
from retro_agents.games.procgen.games import ACTIONS, FRAMES_PER_SECOND, NOTHING, parse_games
from retro_agents.games.procgen.vector import ProcgenVectorEnv, make_vec
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.ranges import Count, Natural, Seed
from retro_agents.ground.window import open_window, pressed, show
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import positional

KEYS = ("left", "right", "up", "down", "d", "a", "w", "s", "q", "e")
"""The game's keys, by pygame's names."""


@dataclasses.dataclass(frozen=True)
class PlayConfig:
    """Play a Procgen game on the keyboard."""

    game: str = positional("GAME")
    """One of the sixteen, such as coinrun."""
    distribution_mode: Literal["easy", "hard", "extreme", "memory", "exploration"] = "easy"
    """Kind of levels; not every game has all kinds."""
    start_level: Natural = 0
    """Seed of the first level; used only with num_levels."""
    num_levels: Natural = 0
    """Levels to draw from; 0: all."""
    seed: Seed = 0
    """Seeds the levels that are drawn."""
    scale: Count = 8
    """Size of a pixel in the window."""


def action_of(held: set[str]) -> int:
    """The action of the held keys, given by name; of several of the game's own keys, one counts."""
    ways = [way.upper() for way in ("left", "right", "up", "down") if way in held]
    names = [" ".join(ways), *ways, *sorted(key.upper() for key in held)]
    return next((ACTIONS.index(name) for name in names if name and name in ACTIONS), NOTHING)


def play(envs: ProcgenVectorEnv, pygame: Any, window: Any) -> None:
    """Play until the player leaves."""
    clock = pygame.time.Clock()
    obs, _ = envs.reset()
    while True:
        keys = pressed(pygame)
        if "escape" in keys:
            return
        if "n" in keys:
            obs, _ = envs.reset()
        held = pygame.key.get_pressed()
        action = action_of({key for key in KEYS if held[pygame.key.key_code(key)]})
        obs, *_, infos = envs.step(np.array([action]))
        for episode in ended_episodes(infos):
            print(f"{episode['level']}: {episode['r']:g} in {episode['l']} steps")
        show(pygame, window, obs[0, -COLOURS:].transpose(1, 2, 0))
        clock.tick(FRAMES_PER_SECOND)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    given = parse_command(PlayConfig, argv, command="retro-agents procgen play")
    config = ProcgenConfig(
        distribution_mode=given.distribution_mode,
        start_level=given.start_level,
        num_levels=given.num_levels,
    )
    if len(parse_games(given.game)) > 1:
        raise UserError(f"{given.game} is more than one game: give one")
    envs = make_vec(given.game, num_envs=1, config=config, seed=given.seed)
    pygame, window = open_window(SIZE * given.scale, SIZE * given.scale)
    play(envs, pygame, window)
    pygame.quit()


if __name__ == "__main__":
    main()
