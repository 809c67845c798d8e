"""Play a level yourself: `retro-agents play LEVEL` opens a window.

The arrows move; X or the space bar jumps (Z, X, C are the pad's A, B, C); a gamepad works too.
R restarts, N plays the next level, Escape ends. `--against ppo2` lets an agent play beside you.
"""

import dataclasses
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import FRAMES_PER_SECOND
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.integrations import is_native
from retro_agents.games.retro.levels import Level, parse_levels, rows_of
from retro_agents.games.retro.make import backend_of, make_contest_env, make_env
from retro_agents.games.retro.splits import SPLITS, split_names
from retro_agents.games.retro.wrappers import progress_of
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.output import printable
from retro_agents.ground.processes import stopped_in_order
from retro_agents.ground.window import open_window, pressed, show
from retro_agents.judging.policies import load_policy
from retro_agents.run.folder import numbered_folder

HELP = "arrows: move   X or space: jump   R: again   N: next level   Escape: quit"
HELP_SECONDS = 5
KEYS = {
    "up": "UP",
    "down": "DOWN",
    "left": "LEFT",
    "right": "RIGHT",
    "z": "A",
    "x": "B",
    "space": "B",
    "c": "C",
    "a": "X",
    "s": "Y",
    "d": "Z",
}
"""pygame's names of keys -> the pad's buttons."""
DIRECTIONS = ("LEFT", "RIGHT", "UP", "DOWN")
WISHES = {"escape": "quit", "r": "again", "n": "next"}
STICK = 0.5
"""How far a gamepad's stick must be tilted."""


class Rival:
    """An agent that plays the level beside a person, one agent step for every four frames."""

    def __init__(self, agent: str) -> None:
        self.label = printable(agent)  # OpenCV crashes at a name that is no UTF-8
        self.policy, settings = load_policy(agent, seed=0)
        self.settings = dataclasses.replace(settings.with_raw_rewards(), backend="native")
        self.env: Any = None

    def begin(self, level: Level) -> None:
        """Begin an episode."""
        if self.env is not None:
            self.env.close()
        self.env = make_env(level, self.settings)
        self.obs, _ = self.env.reset()
        self.starts, self.total, self.over, self.frames = np.ones(1, bool), 0.0, False, 0

    def frame(self) -> tuple[NDArray[np.uint8], float, bool]:
        """Play a frame -> its screen [H, W, 3], the points so far, and whether it has ended."""
        if not self.over and self.frames % self.settings.frame_skip == 0:
            (action,) = self.policy.act(self.obs[np.newaxis], starts=self.starts)
            self.obs, reward, terminated, truncated, _ = self.env.step(int(action))
            self.starts, self.total = np.zeros(1, bool), self.total + float(reward)
            self.over = terminated or truncated
        self.frames += 1
        return self.env.render(), self.total, self.over


def held(pygame: Any, pads: Sequence[Any] = ()) -> NDArray[np.int8]:
    """The buttons that are held on the keyboard or on gamepads: int8 [12]."""
    keys = pygame.key.get_pressed()
    buttons = {button for key, button in KEYS.items() if keys[pygame.key.key_code(key)]}
    for pad in pads:
        buttons |= {"B" for i in range(min(4, pad.get_numbuttons())) if pad.get_button(i)}
        hats = [pad.get_hat(i) for i in range(pad.get_numhats())]
        if pad.get_numaxes() >= 2:
            hats.append((pad.get_axis(0), -pad.get_axis(1)))
        for x, y in hats:
            buttons |= {
                name for name, tilt in zip(DIRECTIONS, (-x, x, y, -y), strict=True) if tilt > STICK
            }
    return np.array([name in buttons for name in BUTTON_NAMES], np.int8)


def gamepads(pygame: Any) -> list[Any]:
    """The gamepads that are plugged in."""
    pygame.joystick.init()
    return [pygame.joystick.Joystick(i) for i in range(pygame.joystick.get_count())]


def wishes(pygame: Any) -> str:
    """The player's command since the last frame: 'quit', 'again', 'next' or ''."""
    keys = pressed(pygame)
    return next((wish for key, wish in WISHES.items() if key in keys), "")


def written(screen: NDArray[np.uint8], *lines: str) -> NDArray[np.uint8]:
    """A screen with lines of text in its middle."""
    import cv2  # slow to import

    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.4
    picture, middle = screen.copy(), screen.shape[0] // 2
    for number, line in enumerate(lines):
        width = cv2.getTextSize(line, font, size, 1)[0][0]
        place = (screen.shape[1] - width) // 2, middle + 16 * number
        for colour, thickness in (((0, 0, 0), 3), ((255, 255, 255), 1)):
            cv2.putText(picture, line, place, font, size, colour, thickness, cv2.LINE_AA)
    return picture


def play_episode(
    env: gymnasium.Env, level: Level, pygame: Any, window: Any, rival: Rival | None = None
) -> str:
    """Play one episode at 60 frames a second, and show its result until a command is given. Returns
    the command that ended it."""
    clock, pads = pygame.time.Clock(), gamepads(pygame)
    env.reset()
    if rival is not None:
        rival.begin(level)
    total, frames, result, theirs = 0.0, 0, "", ""
    shown = HELP
    screens: list[NDArray[np.uint8]] = []
    while not (wish := wishes(pygame)):
        if not result:
            screen, reward, done, _, _ = env.step(held(pygame, pads))
            total, frames = total + float(reward), frames + 1
            screens[:1] = [screen]
            if done:
                finished = progress_of(total, terminated=True)[1]
                how = "finished" if finished else "lost"
                result = f"{how}, {total:,.0f} points in {frames / FRAMES_PER_SECOND:.1f} s"
                print(f"{level}: {result}")
        if rival is not None:
            screen, points, over = rival.frame()
            screens[1:] = [screen]
            theirs = f"{rival.label}: {points:,.0f} points" + ("" if over else ", still playing")
        if frames % 15 == 0:
            pygame.display.set_caption(f"{level}  {total:,.0f} points  {theirs}")
        if frames == HELP_SECONDS * FRAMES_PER_SECOND:
            shown = ""
        lines = [f"You {result}", theirs, "R: again   N: next level"] if result else [shown]
        shots = [written(screens[0], *lines), *screens[1:]]
        show(pygame, window, np.concatenate(shots, axis=1))
        clock.tick(FRAMES_PER_SECOND)
    return wish


def levels_from(text: str, config: EnvConfig) -> list[Level]:
    """The levels that a command names; a single one of a split is followed by the others of it that
    can be played. Raises UserError if one that it names cannot."""
    levels = parse_levels(text)
    for level in levels:
        backend_of([level], config)
    for split in split_names() if len(levels) == 1 else ():
        rows = rows_of(SPLITS / f"{split}.csv")
        if levels[0] in rows:
            at = rows.index(levels[0])
            others = rows[at + 1 :] + rows[:at]
            return levels + [level for level in others if is_playable(level, config)]
    return levels


def is_playable(level: Level, config: EnvConfig) -> bool:
    """Whether a level can be played, such as if its ROM is there."""
    with suppress(UserError):
        backend_of([level], config)
        return True
    return False


@command
def main() -> None:
    parser = Parser(prog="retro-agents play", description=__doc__)
    parser.add_argument(
        "levels",
        metavar="LEVEL",
        help="a level (RustCavern.Act2, or GAME:STATE), a split (bramble-test), or a CSV of levels",
    )
    parser.add_argument(
        "--against",
        metavar="AGENT",
        help="agent that plays beside you, on BrambleDash: ppo2 or a checkpoint",
    )
    parser.add_argument("--scenario", default="contest", help="scenario file (default: contest)")
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
    config = EnvConfig(
        frame_skip=1,
        stick_probability=0.0,
        episode_steps=0,
        backend=arguments.backend,
        scenario=arguments.scenario,
    )
    levels = levels_from(arguments.levels, config)  # before a window opens
    against = arguments.against
    if against and (others := [level for level in levels if not is_native(level.game)]):
        raise UserError(
            f"--against: {others[0].game} needs an emulator, of which a process has only one; "
            "leave it out, or give a level of BrambleDash"
        )
    rival = Rival(against) if against else None
    width = 320 * arguments.scale * (1 if rival is None else 2)
    index, wish = 0, ""
    with stopped_in_order():  # before the window, whose library also has an answer to SIGTERM
        pygame, window = open_window(width, 224 * arguments.scale)
        print(HELP)
        while wish != "quit":
            level, wish = levels[index % len(levels)], ""
            folder = numbered_folder(arguments.record, "play") if arguments.record else None
            with closing(make_contest_env(level, config, record_dir=folder)) as env:
                while wish not in ("quit", "next"):
                    wish = play_episode(env, level, pygame, window, rival)
            index += 1
    pygame.quit()


if __name__ == "__main__":
    main()
