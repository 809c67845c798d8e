"""A film of twelve seconds: the oracle's proofs in three zones, or a recording's end."""

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

from cartridge.levels.cells import Act
from cartridge.levels.console import Console, Status, open_console
from cartridge.levels.gallery import HEIGHT, PLAIN, WIDTH, Screen, replayed, richest, screen
from cartridge.levels.zones import name_of
from retro_agents.games.retro.playback import screens
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted
from retro_agents.ground.film import write_video

FILM = Path("runs/film.gif")
ZONES = ("SpiralMeadow", "EmberFoundry", "SkyIsles")
SECONDS = 12
FPS, GIF_FPS = 30, 15
GIF_COLOURS = 64


def best_window(track: list[Status], act: Act, *, frames: int) -> int:
    """First frame of the window in which the hero passes most kinds of objects."""
    starts = range(0, max(1, len(track) - frames), 30)

    def passed(start: int) -> int:
        window = track[start : start + frames]
        kinds = [s.kind for s in act.spawns if window[0].x < s.x < window[-1].x]
        return 10 * len(set(kinds) - PLAIN) + min(9, len(kinds))

    return max(starts, key=passed)


def scene(console: Console, act: Act, *, frames: int) -> Iterator[Screen]:
    """Every second frame of the best window of an act's proof."""
    track = list(replayed(console, name_of(act)))
    start = best_window(track, act, frames=frames)
    for i, _ in enumerate(replayed(console, name_of(act))):
        if start <= i < start + frames and i % 2 == 0:
            yield screen(console.env)


def oracle(acts: list[Act]) -> Iterator[Screen]:
    """The oracle in three zones."""
    with open_console() as console:
        for zone in ZONES:
            yield from scene(console, richest(acts, zone), frames=SECONDS * 60 // len(ZONES))


def ending(recording: Path) -> Iterator[Screen]:
    """Every second frame of a .bk2's last seconds. Raises UserError if it is not a recording."""
    yield from deque(islice(screens(recording), 0, None, 2), maxlen=SECONDS * FPS)


def write_film(shots: Iterator[Screen], *, path: Path = FILM) -> Path:
    """Writes an .mp4, or a .gif of fewer frames, by the path's suffix.

    Raises UserError for another suffix, or if it cannot be written."""
    if path.suffix == ".gif":
        return _write_gif(path, shots)
    if path.suffix == ".mp4":
        return write_video(path, shots, fps=FPS, scale=2)
    raise UserError(f"cannot write {path}: give a name that ends in .gif or .mp4")


def _write_gif(path: Path, shots: Iterator[Screen]) -> Path:
    colours = f"palettegen=max_colors={GIF_COLOURS}:stats_mode=full"
    filters = f"split[a][b];[a]{colours}[p];[b][p]paletteuse=dither=none"
    import imageio_ffmpeg

    with drafted(path) as draft:
        shots = chain([next(shots)], shots)  # a bad recording fails before ffmpeg starts
        writer = imageio_ffmpeg.write_frames(
            str(draft),
            (WIDTH, HEIGHT),
            fps=GIF_FPS,
            codec="gif",
            macro_block_size=1,
            pix_fmt_out="pal8",
            output_params=["-vf", filters],
        )
        with closing(writer):
            writer.send(None)
            for i, shot in enumerate(shots):
                if i % (FPS // GIF_FPS) == 0:
                    writer.send(shot)
    return path
