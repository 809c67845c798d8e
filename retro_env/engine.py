"""BrambleDash's own code as WebAssembly: any number of games in the memory of one instance.

What is read and written there is laid out as in cartridge/host/games.c.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import wasmtime
from gymnasium.utils.seeding import np_random

from experiment.errors import UserError
from retro_env.config import ACTIONS, EnvConfig
from retro_env.integrations import file_of
from retro_env.levels import Level

RULES = {
    "done": {
        "condition": "any",
        "variables": {
            "lives": {"op": "less-than", "reference": 3},
            "level_end_bonus": {"op": "equal", "reference": 1},
        },
    },
    "reward": {"variables": {"contest_score": {"reward": 0.25, "penalty": 0.25}}},
}
"""The one scenario that the compiled rules play."""
POINTS = 0.25
"""Of the contest's reward, per unit of the game's score."""
PADS = {"UP": 1, "DOWN": 2, "LEFT": 4, "RIGHT": 8, "B": 16, "C": 32, "A": 64, "START": 128}
"""Buttons as the engine reads them."""
RAM = 0xFF0000
CONSOLE_ONLY = "work_line"
"""A variable that measures the console's own time: here there is none."""
ACTION_SLOTS = 64

SETTINGS = np.dtype(
    [
        ("stick_probability", "<f8"),
        *((name, "<u4") for name in ("games", "frame_skip", "episode_steps", "rotate_every")),
        *((name, "<u4") for name in ("backtracking", "height", "width", "depth", "colours")),
        *((name, "<u4") for name in ("from", "to")),
        ("pads", "<u2", ACTION_SLOTS),
        *((name, "<u4") for name in ("game", "observations", "states", "rgb")),
        *((name, "<u4") for name in ("state_bytes", "observation_bytes")),
    ],
    align=True,
)


@dataclass(frozen=True)
class Cartridge:
    """A game's files. acts: names of its levels, in order. digest: of code and acts."""

    module: wasmtime.Module
    pack: bytes
    digest: str
    acts: tuple[str, ...]
    game: np.dtype
    """One game's record in memory."""


def is_native(game: str) -> bool:
    """Whether a game has what it takes to be played without an emulator."""
    return file_of(game, "bramble.wasm") is not None and file_of(game, "game.pack") is not None


def check_rules(game: str, scenario: str) -> None:
    """UserError: only the emulator plays this scenario."""
    path = file_of(game, f"{scenario}.json")
    assert path is not None
    if json.loads(Path(path).read_text(encoding="utf-8")) != RULES:
        raise UserError(
            f"scenario {scenario!r} of {game} has other rules than the contest's, which only the "
            "emulator plays: add --backend emulator"
        )


def cartridge(game: str) -> Cartridge:
    """A game's code and acts, compiled once in this process."""
    paths = [file_of(game, name) for name in ("bramble.wasm", "game.pack", "data.json")]
    assert all(paths), f"{game} is not native"
    return _cartridge(*(Path(str(path)).read_bytes() for path in paths))


@functools.cache
def _engine() -> wasmtime.Engine:
    return wasmtime.Engine()


@functools.lru_cache(maxsize=4)
def _cartridge(code: bytes, packed: bytes, data: bytes) -> Cartridge:
    pack = gzip.decompress(packed)
    head = np.frombuffer(pack, "<u4", 13)
    names = pack[head[11] : head[11] + head[12]].decode().split("\n")
    info = {name: e for name, e in json.loads(data)["info"].items() if name != CONSOLE_ONLY}
    variables = np.dtype(
        {
            "names": list(info),
            "formats": [entry["type"].replace(">", "<") for entry in info.values()],
            "offsets": [entry["address"] - RAM for entry in info.values()],
        },
        align=True,
    )
    record = np.dtype(
        [
            ("random", "<u8", 4),
            *((name, "<i4") for name in ("score", "total", "furthest", "gain")),
            *((name, "<u4") for name in ("steps", "level_steps")),
            ("held", "<u2"),
            *((name, "u1") for name in ("action", "act", "rotates")),
            *((name, "u1") for name in ("terminated", "truncated", "rotated", "stuck", "frames")),
            ("variables", variables),
        ],
        align=True,
    )
    digest = hashlib.sha256(code + pack).hexdigest()[:16]
    return Cartridge(wasmtime.Module(_engine(), code), pack, digest, tuple(names), record)


class Games:
    """`count` games in one instance. Not for two threads at once; calls let other threads run.

    game: records [count]; observations: uint8 [count, C, H, W]; states: uint8 [count, bytes], all
    that each game's next frame depends on. All are views of the instance's memory.
    """

    def __init__(
        self, cartridge: Cartridge, count: int, *, config: EnvConfig, rotate_every: int = 0
    ) -> None:
        self.cartridge = cartridge
        self.store = wasmtime.Store(_engine())
        self.exports = wasmtime.Instance(self.store, cartridge.module, []).exports(self.store)
        place = self.call("allocate", len(cartridge.pack))
        self.view(place, np.dtype("u1"), len(cartridge.pack))[:] = np.frombuffer(
            cartridge.pack, np.uint8
        )
        assert self.call("load", place) == len(cartridge.acts)
        settings = self.settings = self.view(self.call("settings_at"), SETTINGS, 1)[0]
        buttons = [sum(PADS[b] for b in held.split()) for held in ACTIONS[config.actions]]
        settings["pads"][: len(buttons)] = buttons
        settings["games"] = settings["to"] = count
        settings["rotate_every"] = rotate_every
        settings["height"], settings["width"] = config.image_height, config.image_width
        settings["depth"], settings["colours"] = config.frame_stack, config.channels
        for name in ("stick_probability", "frame_skip", "episode_steps", "backtracking"):
            settings[name] = getattr(config, name)
        self.call("prepare")
        settings = self.settings = self.view(self.call("settings_at"), SETTINGS, 1)[0]
        self.game = self.view(settings["game"], cartridge.game, count)
        shape = (count, *config.observation_shape)
        observations = self.view(settings["observations"], np.dtype("u1"), int(np.prod(shape)))
        self.observations = observations.reshape(shape)
        size = int(settings["state_bytes"])
        self.states = self.view(settings["states"], np.dtype("u1"), count * size)
        self.states = self.states.reshape(count, size)
        step: Any = self.exports["step"]
        self.advance = functools.partial(step, self.store)
        for index in range(count):
            self.seed(index, np_random(None)[0])

    def call(self, name: str, *arguments: int) -> Any:
        """One of the exported functions."""
        function: Any = self.exports[name]
        return function(self.store, *arguments)

    def view(self, place: int, dtype: np.dtype, count: int) -> np.ndarray:
        """The memory at `place`; it never moves, and only grows."""
        memory: Any = self.exports["memory"]
        whole = np.ctypeslib.as_array(memory.data_ptr(self.store), (memory.data_len(self.store),))
        found: np.ndarray = whole[int(place) : int(place) + count * dtype.itemsize].view(dtype)
        return found

    def step(self, first: int, end: int) -> None:
        """An agent step of the games from `first` to before `end`, by the actions in `game`."""
        self.settings["from"], self.settings["to"] = first, end
        self.advance()

    def start(self, index: int, level: Level) -> None:
        """A new episode."""
        self.game[index]["act"] = self.cartridge.acts.index(level.state)
        self.call("start", int(index))

    def seed(self, index: int, generator: np.random.Generator) -> None:
        """Draw from here on what this PCG64 generator would."""
        state: Any = generator.bit_generator.state["state"]
        mask = (1 << 64) - 1
        parts = [state["state"] & mask, state["state"] >> 64, state["inc"] & mask]
        self.game[index]["random"] = np.array([*parts, state["inc"] >> 64], np.uint64)

    def screen(self, index: int) -> np.ndarray:
        """A game's picture: uint8 [224, 320, 3], a new array."""
        self.call("rgb", int(index))
        picture = self.view(self.settings["rgb"], np.dtype("u1"), 224 * 320 * 3)
        return picture.reshape(224, 320, 3).copy()

    def variables(self, index: int) -> dict[str, int]:
        """The integration's named variables now, but for CONSOLE_ONLY."""
        values = self.game[index]["variables"]
        return dict(zip(values.dtype.names, values.item(), strict=True))
