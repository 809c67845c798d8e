"""Make demonstrations of what a person played.

retro-agents demonstrate RECORDING.bk2 … --out DIR

Each .bk2, such as `retro-agents play --record` writes, or a training with --record in
RUN/recordings/env-NN/, is played back frame by frame. What an agent would have observed, done and
earned becomes a recorded episode.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.games.retro.config import ACTIONS, EnvConfig
from retro_agents.games.retro.integrations import state_bytes, states
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_contest_env
from retro_agents.games.retro.recordings import Recording, read_recording
from retro_agents.games.retro.wrappers import BUTTON_NAMES, Warp
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.run.folder import claimed

JUMPS = {"A", "B", "C"}
"""Buttons with the same effect; actions name B."""
WAITING = "DOWN"
"""The action closest to pressing nothing, if every action presses a button."""


def action_for(held: Sequence[str], names: Sequence[str]) -> int:
    """The action closest to some buttons: with a jump if one is pressed, and with as many of the
    other buttons, and as few additional ones, as possible."""
    buttons = {"B" if name in JUMPS else name for name in held}
    buttons &= {button for name in names for button in name.split()}
    if not buttons:
        return list(names).index("" if "" in names else WAITING)

    def apart(action: int) -> tuple[bool, int]:
        pressed = set(names[action].split())
        return ("B" in buttons) != ("B" in pressed), len(buttons ^ pressed)

    return min(range(len(names)), key=apart)


def action_of(pads: NDArray[np.uint8], names: Sequence[str]) -> int:
    """The action closest to the buttons that are held in most of these frames [frames,12]."""
    most = Counter(map(tuple, pads.tolist())).most_common(1)[0][0]
    return action_for([name for name, on in zip(BUTTON_NAMES, most, strict=True) if on], names)


def level_of(read: Recording, path: Path) -> Level:
    """The level that a recording starts with. Raises UserError if it starts with none."""
    found = [state for state in states(read.game) if state_bytes(read.game, state) == read.state]
    if not found:
        raise UserError(f"{path} starts at none of the start states of {read.game}: record anew")
    return Level(read.game, found[0])


def replayed(recording: Path, config: EnvConfig) -> Episode:
    """A recording as an episode of agent steps, until the level's or the recording's end. Each
    step's action is the one closest to the buttons held in most of its frames.

    Raises UserError if the file is no recording, or its game cannot be played here.
    """
    read, names = read_recording(recording), ACTIONS[config.actions]
    level = level_of(read, recording)
    pads = read.pads[1:]  # the frame of the reset presses nothing
    frame = replace(config, frame_skip=1, stick_probability=0.0, episode_steps=0)
    env, grey = make_contest_env(level, frame), config.colour == "grey"
    warp = Warp(env, height=config.image_height, width=config.image_width, grey=grey).observation
    with closing(env):
        screen, _ = env.reset()
        frames, actions, rewards, terminated = [warp(screen)], [], [], False
        for begin in range(0, len(pads), config.frame_skip):
            step, earned = pads[begin : begin + config.frame_skip], 0.0
            for pad in step:
                screen, reward, terminated, _, _ = env.step(pad.astype(np.int8))
                earned += float(reward)
                if terminated:
                    break
            actions.append(action_of(step, names))
            rewards.append(earned)
            frames.append(warp(screen))
            if terminated:
                break
    if not actions:
        raise UserError(f"{recording} ends before any button was pressed: record anew")
    return Episode(
        str(level),
        np.array(actions, np.uint8),
        np.array(rewards),
        terminated,
        action_names=names,
        frame_skip=config.frame_skip,
        frames=np.stack(frames),
    )


@command
def main(argv: Sequence[str] | None = None) -> None:
    parser = Parser(prog="retro-agents demonstrate", description=__doc__)
    parser.add_argument(
        "recordings", nargs="+", type=Path, metavar="RECORDING.bk2", help="recordings to play back"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the recorded episodes")
    arguments = parser.parse_args(argv)
    for recording in arguments.recordings:
        if not recording.is_file():
            raise UserError(f"{recording} is no file: give .bk2 recordings")
    with claimed(arguments.out):
        found = [replayed(recording, EnvConfig()) for recording in arguments.recordings]
        found.sort(key=lambda episode: episode.total_reward)
        saved = write_episodes(arguments.out, found, env_steps=sum(len(e.actions) for e in found))
    for episode in found:
        print(f"{episode.level}: {len(episode.actions)} steps, {episode.total_reward:.0f} points")
    print(saved)


if __name__ == "__main__":
    main()
