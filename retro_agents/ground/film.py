"""Films of what an agent or a player saw."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.files import drafted


def enlarged(image: NDArray[np.uint8], scale: int) -> NDArray[np.uint8]:
    """Each pixel of [H, W, 3] `scale` times as large: NumPy's `repeat` takes thrice the time."""
    if scale == 1:
        return image
    import cv2  # slow to import, and --help needs none

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
    """Frames uint8 [H, W, 3] -> an H.264 .mp4; each pixel `scale` times as large. -> path.

    options: of imageio's writer, such as `quality`.
    Errors: UserError (it cannot be written); a film that is broken off leaves nothing behind.
    """
    import imageio.v2 as imageio  # of those who film only: a contest's agent has it not

    with drafted(path) as draft:
        writer: Any = imageio.get_writer(
            draft, fps=fps, codec="libx264", macro_block_size=2, **options
        )
        with closing(writer):  # a writer's own `with` leaves ffmpeg running after an error
            for frame in frames:
                writer.append_data(enlarged(frame, scale))
    return path
