"""Which frames an observation shows: the newest, and some that lie steps back.

Before an episode's first frame stands that frame itself. Letters: N environments, S frames.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError

Images = NDArray[np.uint8]
LONGEST = 255


def parse_offsets(text: str) -> tuple[int, ...]:
    """Offsets as flags spell them, such as "0,-3" -> steps back, the oldest first: (3, 0).

    UserError: it is anything else, or the newest frame is missing.
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


def stacked(frames: Images, *, difference: bool = False) -> Images:
    """Frames [N,S,c,H,W], the newest last -> observations [N,S·c,H,W].

    difference: instead of an older frame its half difference to the newest, 128 where they agree.
    """
    if difference:
        newest = frames[:, -1:].astype(np.int16)
        apart = (newest - frames[:, :-1]) // 2 + 128
        frames = np.concatenate([apart.astype(np.uint8), frames[:, -1:]], axis=1)
    rows, shown, channels, height, width = frames.shape
    return frames.reshape(rows, shown * channels, height, width)


class FrameHistory:
    """The latest frames of N environments, each a ring of its own."""

    def __init__(
        self,
        num_envs: int,
        *,
        frame_shape: tuple[int, int, int],
        steps_back: Sequence[int],
        difference: bool = False,
    ) -> None:
        """steps_back: of each frame that is shown, the oldest first."""
        self.steps_back, self.difference = np.array(steps_back), difference
        self.ring = np.zeros((num_envs, steps_back[0] + 1, *frame_shape), np.uint8)
        self.newest = np.zeros(num_envs, np.int64)

    def begin(self, rows: NDArray[np.integer], frames: Images) -> None:
        """Episodes of these environments [n] begin with frames [n,c,H,W]."""
        self.ring[rows] = frames[:, None]

    def add(self, rows: NDArray[np.integer], frames: Images) -> None:
        """Their next frames [n,c,H,W]."""
        slots = self.newest[rows] = (self.newest[rows] + 1) % self.ring.shape[1]
        self.ring[rows, slots] = frames

    def observations(self, rows: NDArray[np.integer]) -> Images:
        """What they show now, [n,S·c,H,W]."""
        if len(self.steps_back) == 1:
            return self.ring[rows, self.newest[rows]]
        slots = (self.newest[rows, None] - self.steps_back) % self.ring.shape[1]
        return stacked(self.ring[rows[:, None], slots], difference=self.difference)
