"""Recordings to films: `retro-agents film RECORDING.bk2 …` writes an .mp4 beside each.

A .bk2 holds a start state and the buttons of every frame; playing it back gives every screen.
"""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.games.retro.emulator import BUTTONS
from retro_agents.games.retro.integrations import full_name, games, has_rom
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.film import write_video

FRAMES_PER_SECOND = 60


def open_movie(recording: Path) -> Any:
    """Opens a .bk2. Raises UserError if the file is not one."""
    if not zipfile.is_zipfile(recording):
        raise not_a_recording(recording)
    import stable_retro  # slow to import

    try:
        return stable_retro.Movie(str(recording))
    except RuntimeError:  # a zip of another kind
        raise not_a_recording(recording) from None


def frames_of(recording: Path) -> int:
    """The number of a .bk2's `screens`. Raises UserError if the file is not one."""
    return sum(1 for _ in iter(open_movie(recording).step, False))


def screens(recording: Path) -> Iterator[np.ndarray]:
    """Yields every screen of a .bk2, uint8 [H, W, 3], from the level's first frame on. Raises
    UserError if the file cannot be played.

    Uses this process's one emulator until the last screen, or until the iterator is closed.
    """
    movie = open_movie(recording)
    game = full_name(movie.get_game())
    if not has_rom(game):
        raise UserError(f"{game} has no ROM to play {recording} with")
    import stable_retro

    env = stable_retro.RetroEnv(
        game,
        state=stable_retro.State.NONE,
        inttype=games()[game],
        use_restricted_actions=stable_retro.Actions.ALL,
        render_mode="rgb_array",
    )
    try:
        env.em.set_state(movie.get_state())
        movie.step()
        env.em.set_button_mask(np.zeros(BUTTONS, np.uint8), 0)
        env.em.step()
        yield env.get_screen(apply_rotation=True)
        while movie.step():
            pressed = [movie.get_key(button, 0) for button in range(BUTTONS)]
            env.em.set_button_mask(np.array(pressed, np.uint8), 0)
            env.em.step()
            yield env.get_screen(apply_rotation=True)
    finally:
        env.close()


def not_a_recording(path: Path) -> UserError:
    """Returns the error for a file that is not a recording."""
    return UserError(f"{path} is not a .bk2 recording: give files that record_dir wrote")


def convert(recording: Path, *, target: Path | None = None, scale: int = 2) -> Path:
    """Converts a .bk2 to an .mp4: `target`, or a file beside it with its name. Returns the film's
    path. Raises UserError if it cannot."""
    return write_video(target or recording.with_suffix(".mp4"), screens(recording), scale=scale)


def film_names(recordings: Sequence[Path]) -> list[str]:
    """A name for each recording's film: its own, prefixed by as many folders as make it unique."""
    paths = [path.absolute().with_suffix(".mp4") for path in recordings]
    names: list[str] = []
    for depth in range(1, max(len(path.parts) for path in paths)):
        names = ["-".join(path.relative_to(path.anchor).parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            break
    return names


@command
def main() -> None:
    """The command line."""
    parser = Parser(prog="retro-agents film", description=__doc__)
    parser.add_argument("recordings", nargs="+", type=Path, metavar="RECORDING.bk2")
    parser.add_argument("--folder", type=Path, help="where to write (default: beside each)")
    parser.add_argument("--scale", type=int, default=2, help="enlarge pixels (default: 2)")
    arguments = parser.parse_args()
    if arguments.scale < 1:
        raise UserError(f"--scale must be 1 or more, not {arguments.scale}")
    recordings = list(dict.fromkeys(arguments.recordings))
    for recording, name in zip(recordings, film_names(recordings), strict=True):
        if not recording.is_file():
            reason = "is a folder" if recording.is_dir() else "does not exist"
            raise UserError(f"{recording} {reason}: give .bk2 files that record_dir wrote")
        target = arguments.folder / name if arguments.folder else None
        print(convert(recording, target=target, scale=arguments.scale))


if __name__ == "__main__":
    main()
