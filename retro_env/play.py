"""Play a level yourself: `python -m retro_env.play LEVEL` opens a window.

Arrows move; Z, X, C are the pad's A, B, C (X jumps); Enter is START; R starts again, N takes the
next level, Escape leaves.
"""

import argparse
from pathlib import Path
from typing import Any

from experiment.errors import UserError, command
from experiment.window import open_window
from retro_env.emulator import Emulator
from retro_env.levels import parse_levels
from retro_env.wrappers import BUTTON_NAMES

FRAMES_PER_SECOND = 60
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
    "return": "START",
    "tab": "MODE",
}
"""Key names, as pygame spells them, to the pad's buttons."""


def pressed_mask(pygame: Any) -> int:
    """The keys held now, as a button mask."""
    held = pygame.key.get_pressed()
    buttons = {button for key, button in KEYS.items() if held[pygame.key.key_code(key)]}
    return sum(1 << i for i, name in enumerate(BUTTON_NAMES) if name in buttons)


def wishes(pygame: Any) -> str:
    """What the player asked for since the last frame: 'quit', 'again', 'next' or ''."""
    wish = ""
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            return "quit"
        if event.type == pygame.KEYDOWN:
            name = pygame.key.name(event.key)
            wish = {"escape": "quit", "r": "again", "n": "next"}.get(name, wish)
    return wish


def play_episode(emulator: Emulator, pygame: Any, window: Any) -> str:
    """One episode at 60 frames a second -> why it ended: a wish, or 'done'."""
    clock = pygame.time.Clock()
    emulator.reset()
    total, frames = 0.0, 0
    while True:
        wish = wishes(pygame)
        if wish:
            return wish
        reward, done = emulator.frame(pressed_mask(pygame))
        total += reward
        frames += 1
        picture = pygame.surfarray.make_surface(emulator.screen().swapaxes(0, 1))
        pygame.transform.scale(picture, window.get_size(), window)
        pygame.display.flip()
        if frames % 15 == 0:
            pygame.display.set_caption(f"{emulator.level}  {total:.0f} points")
        if done:
            print(f"{emulator.level}: {total:.0f} points in {frames / 60:.1f} s")
            return "done"
        clock.tick(FRAMES_PER_SECOND)


@command
def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m retro_env.play",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("levels", metavar="LEVEL", help="GAME:STATE, a split's name or a CSV")
    parser.add_argument("--scenario", default="contest", help="reward and end (default: contest)")
    parser.add_argument("--scale", type=int, default=3, help="window size (default: 3 times)")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write a .bk2 per try")
    arguments = parser.parse_args()
    if arguments.scale < 1:
        raise UserError(f"--scale must be 1 or more, not {arguments.scale}")
    levels = parse_levels(arguments.levels)
    pygame, window = open_window(320 * arguments.scale, 224 * arguments.scale)
    emulator = Emulator(levels[0], scenario=arguments.scenario, record_dir=arguments.record)
    index, wish = 0, ""
    while wish != "quit":
        index += wish == "next"
        emulator.load(levels[index % len(levels)])
        wish = play_episode(emulator, pygame, window)
    emulator.close()
    pygame.quit()


if __name__ == "__main__":
    main()
