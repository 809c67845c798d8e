"""Make films of recordings: `retro-agents film RECORDING.bk2 …` writes an .mp4 beside each.

A training with --record leaves recordings in RUN/recordings/env-NN/.
"""

from collections.abc import Sequence
from pathlib import Path

from retro_agents.games.retro.playback import screens
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.files import check_folder_name
from retro_agents.ground.film import write_video


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
    parser.add_argument(
        "recordings", nargs="+", type=Path, metavar="RECORDING.bk2", help="recordings to film"
    )
    parser.add_argument("--out", type=Path, help="folder for the films (default: beside each)")
    parser.add_argument("--scale", type=int, default=2, help="size of a pixel (default: 2)")
    arguments = parser.parse_args()
    if arguments.scale < 1:
        raise UserError(f"--scale must be 1 or more, not {arguments.scale}")
    if arguments.out:
        check_folder_name(arguments.out)
    recordings = list(dict.fromkeys(arguments.recordings))
    for recording, name in zip(recordings, film_names(recordings), strict=True):
        if not recording.is_file():
            reason = "is a folder" if recording.is_dir() else "does not exist"
            raise UserError(f"{recording} {reason}: give .bk2 files, such as a contest's")
        film = arguments.out / name if arguments.out else recording.with_suffix(".mp4")
        if film.exists():  # such as the one that `evaluate --video` made of it
            print(f"{film} is kept: remove it, or give another --out, to film {recording} again")
        else:
            print(write_video(film, screens(recording), scale=arguments.scale))


if __name__ == "__main__":
    main()
