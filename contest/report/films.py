"""Short films of recorded episodes, small enough to lie inside a page."""

from __future__ import annotations

import base64
import io
import math
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import imageio.v2 as imageio

from retro_env.video import FRAMES_PER_SECOND, screens

FPS = 30
LONGEST_SECONDS = 40
"""Of a film: longer episodes are shown faster."""
QUALITY = ("-crf", "30", "-preset", "slow", "-movflags", "+faststart")


class Film(NamedTuple):
    """An H.264 .mp4 and a .jpg of its middle, both as data URIs. speed: 1 is the game's."""

    video: str
    poster: str
    speed: float
    seconds: float


def film(recording: Path) -> Film:
    """A .bk2 as a film. Errors: UserError (no recording, no ROM)."""
    frames = sum(1 for _ in screens(recording))
    stride = max(FRAMES_PER_SECOND // FPS, math.ceil(frames / (FPS * LONGEST_SECONDS)))
    shown = math.ceil(frames / stride)
    poster = b""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        writer: Any
        with imageio.get_writer(
            path,
            fps=FPS,
            codec="libx264",
            quality=None,
            macro_block_size=2,
            output_params=list(QUALITY),
        ) as writer:
            for number, screen in enumerate(screens(recording)):
                if number % stride == 0:
                    writer.append_data(screen)
                if number == (shown // 2) * stride:
                    poster = jpeg(screen)
        video = path.read_bytes()
    return Film(
        video=data_uri("video/mp4", video),
        poster=data_uri("image/jpeg", poster),
        speed=stride * FPS / FRAMES_PER_SECOND,
        seconds=frames / FRAMES_PER_SECOND,
    )


def jpeg(screen: Any) -> bytes:
    """uint8 [H, W, 3] as a small JPEG."""
    buffer = io.BytesIO()
    imageio.imwrite(buffer, screen, format="JPEG", quality=70)
    return buffer.getvalue()


def data_uri(kind: str, data: bytes) -> str:
    """Bytes inside a page."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
