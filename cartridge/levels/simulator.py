"""The game's own engine without pictures: plays acts far faster than the emulator, with save and
restore. It is the committed bramble.wasm; after a change of src/ or the art, rebuild that."""

import gzip
from collections.abc import Sequence

import numpy as np

from cartridge import build_states
from cartridge.levels import pack
from cartridge.levels.cells import Act
from cartridge.levels.console import Status
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.engine import LINE, Games, assemble, quick_call
from retro_agents.games.retro.levels import Level


class Simulator:
    """Plays acts by name. Any number of simulators may exist, each with its own instance."""

    def __init__(self, acts: Sequence[Act]):
        files = (build_states.FOLDER / n for n in ("bramble.wasm", pack.FILE, "data.json"))
        code, art, data = (path.read_bytes() for path in files)
        packs = {"art": gzip.decompress(art), "": pack.pack(acts, art=False)}
        self._games = games = Games(
            assemble(code, packs, data), 1, config=EnvConfig(), pictures=False
        )
        self._state = games.states[0]
        self._line = games.view(games.call("line_at"), LINE, 1)[0]
        self._actions, self._stuck = self._line["actions"], self._line["stuck"]
        self._seen = self._line["seen"]
        self._search = quick_call(games.store, games.exports["search"])
        self._see = quick_call(games.store, games.exports["see"])

    def start(self, level: str) -> Status:
        """Start a level, named like 'BrambleWood.Act1'."""
        self._games.start(0, Level("", level))
        return self.status()

    def save(self) -> bytes:
        """The whole state of the game."""
        return self._state.tobytes()

    def restore(self, state: bytes) -> None:
        """Go back to a saved state, exactly."""
        self._state[:] = np.frombuffer(state, np.uint8)

    def play(self, actions: Sequence[int], *, stuck: Sequence[bool] = ()) -> tuple[Status, int]:
        """Play actions of four frames each, until the episode is over.

        stuck: whether an action's first frame still holds the action before. Returns the status
        after them, and the number played."""
        count = len(actions)
        if count > len(self._actions):
            raise ValueError(f"at most {len(self._actions)} actions at a time, not {count}")
        self._line["count"] = count
        self._actions[:count] = actions
        self._stuck[:count] = stuck or False
        self._search()
        return self._status(), int(self._line["played"])

    def furthest(self) -> int:
        """The largest x at the end of a step of the episode."""
        self._see()
        return int(self._seen[13])

    def status(self) -> Status:
        """Read the game's variables."""
        self._see()
        return self._status()

    def _status(self) -> Status:
        v = self._seen.tolist()
        return Status._make([*v[:10], bool(v[10]), v[11] / 4, v[12]])
