"""Play a level yourself: `retro-agents play LEVEL` opens a window.

The arrows move; Z, X, C are the pad's A, B, C (X jumps); R restarts, N plays the next level,
Escape ends.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.levels import Level, parse_levels
from retro_agents.games.retro.make import backend_of, make_contest_env
from retro_agents.games.retro.video import FRAMES_PER_SECOND
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.window import open_window, show
from retro_agents.run.folder import numbered_folder

KEYS = {
    "up": "UP",
    "down": "DOWN",
    "left": "LEFT",
    "right": "RIGHT",
    "z": "A",
    "x": "B",
    "c": "C",
    "a": "X",
    "s": "Y",
    "d": "Z",
}
"""pygame's names of keys -> the pad's buttons."""


def pressed(pygame: Any) -> np.ndarray:
    """The buttons of the held keys: int8 [12]."""
    held = pygame.key.get_pressed()
    buttons = {button for key, button in KEYS.items() if held[pygame.key.key_code(key)]}
    return np.array([name in buttons for name in BUTTON_NAMES], np.int8)


def wishes(pygame: Any) -> str:
    """The player's command since the last frame: 'quit', 'again', 'next' or ''."""
    wish = ""
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            return "quit"
        if event.type == pygame.KEYDOWN:
            name = pygame.key.name(event.key)
            wish = {"escape": "quit", "r": "again", "n": "next"}.get(name, wish)
    return wish


def play_episode(env: gymnasium.Env, level: Level, pygame: Any, window: Any) -> str:
    """Play one episode at 60 frames a second. Returns why it ended: a command, or 'done'."""
    clock = pygame.time.Clock()
    env.reset()
    total, frames = 0.0, 0
    while True:
        wish = wishes(pygame)
        if wish:
            return wish
        screen, reward, done, _, _ = env.step(pressed(pygame))
        total += float(reward)
        frames += 1
        show(pygame, window, screen)
        if frames % 15 == 0:
            pygame.display.set_caption(f"{level}  {total:.0f} points")
        if done:
            print(f"{level}: {total:.0f} points in {frames / 60:.1f} s")
            return "done"
        clock.tick(FRAMES_PER_SECOND)


@command
def main() -> None:
    """The command line."""
    parser = Parser(prog="retro-agents play", description=__doc__)
    parser.add_argument("levels", metavar="LEVEL", help="GAME:STATE, a split's name or a CSV")
    parser.add_argument("--scenario", default="contest", help="reward and end (default: contest)")
    parser.add_argument(
        "--backend",
        choices=("native", "emulator"),
        default="native",
        help="what plays BrambleDash (default: native); other games always play in the emulator",
    )
    parser.add_argument("--scale", type=int, default=3, help="window size (default: 3 times)")
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="write a .bk2 per try, in a new folder of DIR"
    )
    arguments = parser.parse_args()
    if arguments.scale < 1:
        raise UserError(f"--scale must be 1 or more, not {arguments.scale}")
    levels = parse_levels(arguments.levels)
    config = EnvConfig(
        frame_skip=1,
        stick_probability=0.0,
        episode_steps=0,
        backend=arguments.backend,
        scenario=arguments.scenario,
    )
    pygame, window = open_window(320 * arguments.scale, 224 * arguments.scale)
    for level in levels:
        backend_of([level], config)  # raises UserError before a folder is made
    index, wish = 0, ""
    while wish != "quit":
        level, wish = levels[index % len(levels)], ""
        folder = numbered_folder(arguments.record, "play") if arguments.record else None
        with closing(make_contest_env(level, config, record_dir=folder)) as env:
            while wish not in ("quit", "next"):
                wish = play_episode(env, level, pygame, window)
        index += 1
    pygame.quit()


if __name__ == "__main__":
    main()
