"""The game in the emulator, played frame by frame; by stable-retro's emulator directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cartridge.build_states import INTEGRATION
from cartridge.levels.splits import level_names
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import SEVEN
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.engine import POINTS

if TYPE_CHECKING:
    import stable_retro  # only the emulator needs it

FRAME_SKIP = 4
LIVES = 3
"""Lives at the start; fewer end the episode."""
MASKS = tuple(np.array([b in held.split() for b in BUTTON_NAMES], np.uint8) for held in SEVEN)
"""The buttons of the contest's seven actions."""


class Status(NamedTuple):
    """The hero's state. Positions in pixels, speeds in pixels / 256 per frame."""

    x: int
    y: int
    progress: int
    length: int
    frame: int
    speed_x: int
    speed_y: int
    flags: int
    rings: int
    lives: int
    finished: bool
    score: float
    """The contest's return so far."""
    switches: int
    """Bit i: the switch with id i was touched."""

    @classmethod
    def of(cls, variables: Mapping[str, int]) -> Status:
        """The status from the integration's variables."""
        v = variables
        return cls(
            x=v["x"],
            y=v["y"],
            progress=v["progress"],
            length=v["end_x"] - v["start_x"],
            frame=v["frame_counter"],
            speed_x=v["speed_x"],
            speed_y=v["speed_y"],
            flags=v["flags"],
            rings=v["rings"],
            lives=v["lives"],
            finished=bool(v["level_end_bonus"]),
            score=v["contest_score"] * POINTS,
            switches=v["switches"],
        )

    @property
    def lost(self) -> bool:
        return self.lives < LIVES

    @property
    def over(self) -> bool:
        return self.lost or self.finished

    @property
    def part(self) -> float:
        """The completed share of the act, 0..1."""
        return min(1.0, self.progress / self.length)


class Console:
    """An emulator with the game. A process can have only one; use open_console."""

    def __init__(self, env: stable_retro.RetroEnv):
        self.env = env
        self._held: int | None = None

    def start(self, level: str) -> Status:
        """Begin a level, named like 'BrambleWood.Act1'."""
        from stable_retro.data import Integrations

        self.env.load_state(level, Integrations.ALL)
        self.env.reset()
        self._held = None
        return self.status()

    def frames(self, mask: NDArray[np.uint8], count: int) -> None:
        """Hold buttons for some frames, or until the episode is over."""
        self.env.em.set_button_mask(mask, 0)
        for _ in range(count):
            if self._over():
                return
            self.env.em.step()

    def _over(self) -> bool:
        """Whether a life was lost or the end reached, read from live memory."""
        lookup = self.env.data.lookup_value
        return bool(lookup("lives") < LIVES or lookup("level_end_bonus"))

    def play(self, actions: Sequence[int], *, stuck: Sequence[bool] = ()) -> tuple[Status, int]:
        """Play actions until the episode is over. stuck: whether an action's first frame holds the
        action before. Returns the status after them, and the number played."""
        status = self.status()
        for i, action in enumerate(actions):
            if status.over:
                return status, i
            late = self._held if stuck and stuck[i] else None
            if late is not None:
                self.frames(MASKS[late], 1)
            self.frames(MASKS[action], FRAME_SKIP - (late is not None))
            self._held = action
            status = self.status()
        return status, len(actions)

    def status(self) -> Status:
        """Read the game's variables."""
        self.env.data.update_ram()
        return Status.of(self.env.data.lookup_all())


@contextmanager
def open_console() -> Iterator[Console]:
    """An emulator with the game, closed at the end."""
    import stable_retro

    kinds = stable_retro.data.Integrations
    kinds.add_custom_path(str(INTEGRATION))
    env = stable_retro.make(
        GAME,
        state=level_names()[0],
        inttype=kinds.ALL,
        render_mode="rgb_array",
        use_restricted_actions=stable_retro.Actions.ALL,
    )
    try:
        yield Console(env)
    finally:
        env.close()
