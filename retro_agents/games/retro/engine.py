"""BrambleDash's own code as WebAssembly: any number of games in the memory of one instance.

The memory has the layout of cartridge/host/games.c.
"""

from __future__ import annotations

import ctypes
import functools
import gzip
import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import wasmtime
from gymnasium.utils.seeding import np_random

from retro_agents.games.retro.config import ACTIONS, EnvConfig
from retro_agents.games.retro.integrations import CODE, PACK, act_names, file_of, head_of
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError

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
"""The only scenario of the compiled rules."""
POINTS = 0.25
"""The contest's reward per unit of the game's score."""
PADS = {"UP": 1, "DOWN": 2, "LEFT": 4, "RIGHT": 8, "B": 16, "C": 32, "A": 64, "START": 128}
"""The engine's masks of its buttons; the pad's others do nothing."""
RAM = 0xFF0000
SIZES = (*[2] * 22, 4, 2, 2)
"""Bytes of each variable, one after another from RAM: Published in cartridge/src/ram.h."""
CONSOLE_ONLY = "work_line"
"""The variable that measures the console's own time, which does not exist here."""
ACTION_SLOTS = 64
NEVER = 2**32 - 1
"""The largest number of steps that the engine counts."""
COMPILER = wasmtime.Config()
COMPILER.parallel_compilation = False  # its threads are gone in a process that was forked
ENGINE = wasmtime.Engine(COMPILER)
"""One for all threads: code runs only under the one that compiled it."""

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
BYTE = np.dtype("u1")
LINE = np.dtype(
    [
        ("count", "<u4"),
        *((name, "u1", 8192) for name in ("actions", "stuck")),
        ("played", "<i4"),
        ("seen", "<i4", 14),
    ],
    align=True,
)
"""The input and the result of `search`."""


@dataclass(frozen=True)
class Cartridge:
    """The content of one instance: one or several games with the same code and art.

    digest: hash of code and acts. acts: number of each level, in the order of the packs.
    """

    module: wasmtime.Module
    packs: tuple[bytes, ...]
    digest: str
    acts: dict[Level, int]
    game: np.dtype
    """One game's record in memory."""


def pads_of(held: str) -> int:
    """The engine's mask of the buttons with these names."""
    return sum(PADS.get(name, 0) for name in held.split())


def check_rules(game: str, scenario: str) -> None:
    """Raises UserError if only the emulator can play this scenario, or if it is damaged."""
    path = file_of(game, f"{scenario}.json")
    if parsed(path.read_bytes(), str(path)) != RULES:
        raise UserError(
            f"scenario {scenario!r} of {game} has other rules than the contest's, which only the "
            "emulator plays: add --backend emulator"
        )


def parsed(data: bytes, name: str) -> Any:
    """What a JSON file of a game holds. Raises UserError if it is damaged."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise UserError(f"{name} is damaged: it is not JSON ({error})") from None


def cartridge(*games: str) -> Cartridge:
    """These games' code and acts, compiled once in this process. Raises UserError if they cannot
    share an instance."""
    names = (CODE, PACK, "data.json")
    files = [[file_of(game, name).read_bytes() for name in names] for game in games]
    code, _, data = files[0]
    packs = [gzip.decompress(packed) for _, packed, _ in files]
    for game, (other, _, _), pack in zip(games, files, packs, strict=True):
        if other != code or art_of(pack) != art_of(packs[0]):
            raise UserError(
                f"{game} and {games[0]} are of different versions: delete the older one's folder, "
                "and make it again with `python -m cartridge.levels new`"
            )
    return assemble(code, dict(zip(games, packs, strict=True)), data)


def assemble(code: bytes, packs: dict[str, bytes], data: bytes) -> Cartridge:
    """A cartridge of packs by their games' names, with the zones and art of the first one.
    data: data.json of the games. Raises UserError if it is damaged, or names what the engine does
    not have."""
    levels = [Level(game, name) for game, pack in packs.items() for name in act_names(pack)]
    named = parsed(data, "data.json")["info"]
    info = {name: entry for name, entry in named.items() if name != CONSOLE_ONLY}
    places = dict(zip(itertools.accumulate(SIZES, initial=RAM), SIZES, strict=False))
    for name, entry in info.items():
        size = places.get(entry.get("address"))
        if entry.get("type") not in (f">u{size}", f">i{size}"):
            raise UserError(f"the engine has no variable {name!r}: add --backend emulator")
    variables = np.dtype(
        {
            "names": list(info),
            "formats": [entry["type"].replace(">", "<") for entry in info.values()],
            "offsets": [entry["address"] - RAM for entry in info.values()],
            "itemsize": sum(SIZES),
        },
        align=True,
    )
    record = np.dtype(
        [
            ("random", "<u8", 4),
            *((name, "<i4") for name in ("score", "total", "furthest", "gain")),
            *((name, "<u4") for name in ("steps", "level_steps")),
            *((name, "<u2") for name in ("held", "act")),
            *((name, "u1") for name in ("action", "rotates")),
            *((name, "u1") for name in ("terminated", "truncated", "rotated", "stuck", "frames")),
            ("variables", variables),
        ],
        align=True,
    )
    return Cartridge(
        module_of(code),
        tuple(packs.values()),
        hashlib.sha256(code + b"".join(packs.values())).hexdigest()[:16],
        {level: number for number, level in enumerate(levels)},
        record,
    )


@functools.lru_cache(maxsize=4)
def module_of(code: bytes) -> wasmtime.Module:
    """Code, compiled."""
    return wasmtime.Module(ENGINE, code)


def art_of(pack: bytes) -> bytes:
    """The parts of a pack that all games of a version share: zones' art, shapes, sprites, logo."""
    head = head_of(pack)
    first = int(np.frombuffer(pack, "<u4", 1, head[6])[0])
    return pack[first : head[5]] + pack[head[7] : head[11]]


def quick_call(store: wasmtime.Store, function: Any) -> Callable[[], None]:
    """Wraps a function without arguments and result, to call it ten times as fast as wasmtime does.

    wasmtime's C interface offers this, its Python package does not; hence the private names.
    """
    from wasmtime import _bindings, _ffi

    call, context = _ffi.dll.wasmtime_func_call_unchecked, store._context()
    code, none, trap = ctypes.byref(function._func), None, ctypes.POINTER(_bindings.wasm_trap_t)()
    trapped = ctypes.byref(trap)

    def quick() -> None:
        if call(context, code, none, 0, trapped) or trap:
            raise RuntimeError("the game's code has failed")

    return quick


class Games:
    """`count` games in one instance. Not thread-safe; calls release the GIL.

    game: records [count]; observations: uint8 [count, C, H, W]; states: uint8 [count, bytes], all
    that each game's next frame depends on. All are views of the instance's memory.
    """

    def __init__(
        self,
        cartridge: Cartridge,
        count: int,
        *,
        config: EnvConfig,
        rotate_every: int = 0,
        pictures: bool = True,
    ) -> None:
        """pictures: whether to draw observations; otherwise C is 0."""
        self.cartridge = cartridge
        self.store = wasmtime.Store(ENGINE)
        self.exports = wasmtime.Instance(self.store, cartridge.module, []).exports(self.store)
        loaded = 0
        for pack in cartridge.packs:
            place = self.call("allocate", len(pack))
            self.view(place, BYTE, len(pack))[:] = np.frombuffer(pack, np.uint8)
            loaded = self.call("load", place)
        if loaded != len(cartridge.acts):
            raise UserError(
                f"{len(cartridge.acts):,} acts of {len(cartridge.packs)} cartridges are more than "
                "the engine holds, which is 4,096: give levels of fewer cartridges"
            )
        spec = config.spec()
        settings = self.settings = self.view(self.call("settings_at"), SETTINGS, 1)[0]
        settings["pads"][: config.actions] = [*map(pads_of, ACTIONS[config.actions])]
        settings["games"] = settings["to"] = count
        settings["rotate_every"] = min(rotate_every, NEVER)
        settings["height"], settings["width"] = config.image_height, config.image_width
        settings["depth"], settings["colours"] = config.frame_stack * pictures, spec.channels
        for name in ("frame_skip", "episode_steps"):
            settings[name] = min(getattr(config, name), NEVER)
        settings["stick_probability"] = config.stick_probability
        settings["backtracking"] = config.backtracking
        self.call("prepare")
        settings = self.settings = self.view(self.call("settings_at"), SETTINGS, 1)[0]
        self.game = self.view(settings["game"], cartridge.game, count)
        channels, *size = spec.observation_shape
        shape = count, channels * pictures, *size
        self.observations = self.view(settings["observations"], BYTE, *shape)
        self.states = self.view(settings["states"], BYTE, count, int(settings["state_bytes"]))
        self.advance = quick_call(self.store, self.exports["step"])
        self.load_art()
        for index in range(count):
            self.seed(index, np_random(None)[0])

    def load_art(self) -> None:
        """Load the art of all zones in the order of the acts. A state refers to its zone's art by
        place, which would otherwise depend on what this instance played first."""
        state, game = self.states[0].copy(), self.game[0].copy()
        acts = {level.state.partition(".")[0]: level for level in self.cartridge.acts}
        for one_of_a_zone in acts.values():
            self.start(0, one_of_a_zone)
        self.states[0], self.game[0] = state, game

    def call(self, name: str, *arguments: int) -> Any:
        """Call an exported function."""
        function: Any = self.exports[name]
        return function(self.store, *arguments)

    def view(self, place: int, dtype: np.dtype, *shape: int) -> np.ndarray:
        """A view of the memory at `place`, which never moves."""
        memory: Any = self.exports["memory"]
        whole = np.ctypeslib.as_array(memory.data_ptr(self.store), (memory.data_len(self.store),))
        return np.ndarray(shape, dtype, whole, int(place))

    def step(self, first: int, end: int) -> None:
        """Step the games from `first` to before `end`, by the actions in `game`."""
        self.settings["from"], self.settings["to"] = first, end
        self.advance()

    def start(self, index: int, level: Level) -> None:
        """Begin a new episode."""
        self.game[index]["act"] = self.cartridge.acts[level]
        self.call("start", int(index))

    def seed(self, index: int, generator: np.random.Generator) -> None:
        """Set a game's generator to the state of this PCG64 generator."""
        state: Any = generator.bit_generator.state["state"]
        mask = (1 << 64) - 1
        parts = [state["state"] & mask, state["state"] >> 64, state["inc"] & mask]
        self.game[index]["random"] = np.array([*parts, state["inc"] >> 64], np.uint64)

    def screen(self, index: int) -> np.ndarray:
        """A game's picture: uint8 [224, 320, 3], a new array."""
        self.call("rgb", int(index))
        return self.view(self.settings["rgb"], BYTE, 224, 320, 3).copy()

    def variables(self, index: int) -> dict[str, int]:
        """The current values of the integration's variables, except CONSOLE_ONLY."""
        values = self.game[index]["variables"]
        return dict(zip(values.dtype.names, values.item(), strict=True))
