"""Films of frames."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted


def enlarged(image: NDArray[np.uint8], scale: int) -> NDArray[np.uint8]:
    """Enlarges each pixel of [H, W, 3] `scale` times; NumPy's `repeat` takes thrice the time."""
    if scale == 1:
        return image
    import cv2  # slow to import, and not needed for --help

    large = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST)
    return np.asarray(large, np.uint8)


def write_video(
    path: Path,
    frames: Iterable[np.ndarray],
    *,
    fps: float = 60,
    scale: int = 1,
    **options: Any,
) -> Path:
    """Writes frames uint8 [H, W, 3] as an H.264 .mp4, enlarged `scale` times. Returns the path.

    options: of imageio's writer, such as `quality`.
    Raises UserError if the film cannot be written. An interrupted film leaves no file behind.
    """
    import imageio.v2 as imageio  # optional: a contest's agent does without it
    from imageio_ffmpeg import get_ffmpeg_exe

    try:
        get_ffmpeg_exe()
    except RuntimeError as error:  # none is for this machine, or may be run on it
        raise UserError(f"cannot write {path}: {error}") from None

    with drafted(path) as draft:
        writer: Any = imageio.get_writer(
            draft, fps=fps, codec="libx264", macro_block_size=2, **options
        )
        with closing(writer):  # a writer's own `with` leaves ffmpeg running after an error
            for frame in frames:
                writer.append_data(enlarged(frame, scale))
    return path
