"""Short films of recorded episodes, small enough to embed in a page."""

import base64
import io
import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import imageio.v2 as imageio

from retro_agents.games.retro.contest_env import FRAMES_PER_SECOND
from retro_agents.games.retro.playback import screens
from retro_agents.games.retro.recordings import read_recording
from retro_agents.ground.film import write_video
from retro_agents.ground.temporary import temporary_folder

FPS = 30
LONGEST_SECONDS = 40
"""Longest film in seconds; longer episodes are sped up."""
QUALITY = ("-crf", "30", "-preset", "slow", "-movflags", "+faststart")


class Film(NamedTuple):
    """An H.264 .mp4 and a .jpg of its middle, both as data URIs. speed: 1 is real time."""

    video: str
    poster: str
    speed: float
    seconds: float


def film(recording: Path) -> Film:
    """A .bk2 as a film. Raises UserError if the recording or its ROM is missing."""
    frames = len(read_recording(recording).pads)
    stride = max(FRAMES_PER_SECOND // FPS, math.ceil(frames / (FPS * LONGEST_SECONDS)))
    shown = itertools.islice(screens(recording), 0, None, stride)
    with temporary_folder() as (folder, _):
        path = folder / "film.mp4"
        write_video(path, shown, fps=FPS, quality=None, output_params=list(QUALITY))
        reader: Any
        with imageio.get_reader(path) as reader:
            middle = reader.get_data(math.ceil(frames / stride) // 2)
        video = path.read_bytes()
    poster = io.BytesIO()
    imageio.imwrite(poster, middle, format="JPEG", quality=70)
    return Film(
        video=data_uri("video/mp4", video),
        poster=data_uri("image/jpeg", poster.getvalue()),
        speed=stride * FPS / FRAMES_PER_SECOND,
        seconds=frames / FRAMES_PER_SECOND,
    )


def data_uri(kind: str, data: bytes) -> str:
    """Bytes as a data URI."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
