"""Frame stacking: an observation shows the newest frame and some older ones.

An episode's first frame also stands for the frames before it. Letters: N environments, S frames.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError

Images = NDArray[np.uint8]
LONGEST = 255


def parse_offsets(text: str) -> tuple[int, ...]:
    """Parses a flag's offsets, such as "0,-3", to steps back, the oldest first: (3, 0).

    Raises UserError if the text is malformed or lacks the newest frame.
    """
    parts = [part.strip() for part in text.split(",")]
    numbers = [int(part) for part in parts if part.removeprefix("-").isdecimal()]
    back = sorted({-number for number in numbers}, reverse=True)
    if len(back) != len(parts) or back[-1] != 0 or back[0] > LONGEST:
        raise UserError(
            f"bad --frames {text!r}; expected different offsets from 0, the newest frame, down to "
            f"-{LONGEST}, such as 0 or 0,-3"
        )
    return tuple(back)


def stacked(frames: Images) -> Images:
    """Stacks frames, the newest last. Frames [N,S,c,H,W] -> observations [N,S·c,H,W]."""
    rows, shown, channels, height, width = frames.shape
    return frames.reshape(rows, shown * channels, height, width)


class FrameHistory:
    """The latest frames of N environments, in a ring buffer per environment."""

    def __init__(
        self, num_envs: int, *, frame_shape: tuple[int, int, int], steps_back: Sequence[int]
    ) -> None:
        """steps_back: the age of each frame that is shown, the oldest first."""
        self.steps_back = np.array(steps_back)
        self.ring = np.zeros((num_envs, steps_back[0] + 1, *frame_shape), np.uint8)
        self.newest = np.zeros(num_envs, np.int64)

    def begin(self, rows: NDArray[np.integer], frames: Images) -> None:
        """Starts episodes of the environments `rows` [n] with frames [n,c,H,W]."""
        self.ring[rows] = frames[:, None]

    def add(self, rows: NDArray[np.integer], frames: Images) -> None:
        """Adds the next frames [n,c,H,W] of the environments `rows` [n]."""
        slots = self.newest[rows] = (self.newest[rows] + 1) % self.ring.shape[1]
        self.ring[rows, slots] = frames

    def observations(self, rows: NDArray[np.integer]) -> Images:
        """Returns the current observations [n,S·c,H,W] of the environments `rows` [n]."""
        if len(self.steps_back) == 1:
            return self.ring[rows, self.newest[rows]]
        slots = (self.newest[rows, None] - self.steps_back) % self.ring.shape[1]
        return stacked(self.ring[rows[:, None], slots])
