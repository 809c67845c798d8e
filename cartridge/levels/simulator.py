"""The game's own engine, compiled for this machine: plays acts thousands of times faster than the
emulator, with save and restore. For searching only; what it finds is replayed in the emulator."""

import ctypes
import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import which

import numpy as np
from numpy.typing import NDArray

from cartridge.levels.cells import HEIGHT, Act
from cartridge.levels.console import Status
from cartridge.levels.paint import metatile_shapes, paint
from cartridge.levels.zones import ZONES
from experiment.errors import UserError

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src"
BUILD = HERE.parent / "build" / "host"
WITHOUT = {"main.c", "vdp.c", "hud.c", "sound.c"}
"""main.c is part of simulator.c; the others draw and sound."""
FLAGS = ("-O2", "-fPIC", "-w", "-fno-strict-aliasing", f"-I{SOURCES}")
STATE = "engine_state"
IDLE_FRAMES = 2
"""Frames that have passed when an episode begins: a state's own, and the reset's."""


class Simulator:
    """Acts that can be played by name. Any number may exist, each with its own library."""

    def __init__(self, acts: Sequence[Act]):
        self._library = _load(_build())
        self._library.sim_size.restype = ctypes.c_uint32
        self._size = int(self._library.sim_size())
        self._view = (ctypes.c_int32 * 16)()
        self._names = {name_of(act): i for i, act in enumerate(acts)}
        self._kept: list[NDArray[np.generic]] = []
        shapes = self._keep(np.array(metatile_shapes(), np.uint8))
        self._library.sim_shapes(shapes)
        for index, act in enumerate(acts):
            self._add(index, act)
        self._fresh = self.save()

    def _keep(self, values: NDArray[np.generic]) -> ctypes.c_void_p:
        """The address of an array that must live as long as this object."""
        self._kept.append(values)
        return ctypes.c_void_p(values.ctypes.data)

    def _add(self, index: int, act: Act) -> None:
        numbers = [act.zone, act.number, act.width, HEIGHT, len(act.spawns), *act.start]
        numbers += [act.end_x, act.water_y]
        fields = np.dtype("u1,u1,u2,u2,u1,u1", align=True)
        spawns = [(s.kind, s.arg, s.x, s.y, s.arg2 & 0xFF, s.arg3) for s in act.spawns]
        self._library.sim_act(
            index,
            self._keep(np.array(numbers, np.uint16)),
            self._keep(np.array(paint(act), np.uint8)),
            self._keep(np.array(spawns, fields)),
        )

    def start(self, level: str) -> Status:
        """Begin a level, named like 'BrambleWood.Act1'."""
        self.restore(self._fresh)
        self._library.sim_start(self._names[level], IDLE_FRAMES)
        return self.status()

    def save(self) -> bytes:
        """The whole state of the game."""
        state = ctypes.create_string_buffer(self._size)
        self._library.sim_save(state)
        return state.raw

    def restore(self, state: bytes) -> None:
        """Go back to a saved state, exactly."""
        self._library.sim_restore(state)

    def play(self, actions: Sequence[int], *, stuck: Sequence[bool] = ()) -> tuple[Status, int]:
        """Actions of four frames each, until the episode is over.

        stuck: where the first frame still holds the action before. Returns the state after them
        and how many were played."""
        late = bytes(stuck) if stuck else None
        played = self._library.sim_play(bytes(actions), late, len(actions))
        return self.status(), played

    def furthest(self) -> int:
        """The largest x at the end of a step of the episode."""
        self._library.sim_view(self._view)
        return int(self._view[13])

    def act(self, action: int) -> Status:
        """One of the seven actions for four frames. Returns the state after them."""
        return self.play((action,))[0]

    def status(self) -> Status:
        """Read the game's variables."""
        self._library.sim_view(self._view)
        v = list(self._view)
        return Status._make([*v[:10], bool(v[10]), v[11] / 4, v[12]])


def name_of(act: Act) -> str:
    """The act's level, like 'BrambleWood.Act1'."""
    return f"{ZONES[act.zone].name}.Act{act.number}"


def _load(path: Path) -> ctypes.CDLL:
    """A copy of the library: the same file would be shared, and with it the game's state."""
    with tempfile.NamedTemporaryFile(suffix=".so") as copy:
        copy.write(path.read_bytes())
        copy.flush()
        return ctypes.CDLL(copy.name)


def _build() -> Path:
    """Compile the engine unless it has been. Raises UserError without a compiler."""
    files = sorted(f for f in SOURCES.glob("*.c") if f.name not in WITHOUT)
    files += [HERE / "simulator.c", HERE / "tables.c"]
    texts = [f.read_bytes() for f in (*files, *sorted(SOURCES.glob("*.h")), SOURCES / "main.c")]
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
    made = BUILD / f"engine-{digest}.so"
    if made.exists():
        return made
    if which("gcc") is None or which("objcopy") is None:
        raise UserError("no gcc and objcopy on this machine: the search needs them; install gcc")
    BUILD.mkdir(parents=True, exist_ok=True)
    # In a folder of its own: another process may be building the same.
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        objects = [Path(folder) / f"{file.stem}.o" for file in files]
        for file, item in zip(files, objects, strict=True):
            _run("gcc", *FLAGS, "-c", str(file), "-o", str(item))
        state = objects[:-1]
        for item in state:
            _gather_state(item)
        engine = Path(folder) / made.name
        _run("gcc", "-shared", *map(str, objects), "-o", str(engine))
        engine.replace(made)
    return made


def _gather_state(item: Path) -> None:
    """Put all that changes into one section, whose ends the linker names."""
    flags = [f"--set-section-flags={name}=alloc,load,data,contents" for name in (".bss",)]
    names = (".data", ".bss", ".published", ".data.rel.local", ".data.rel")
    renames = [f"--rename-section={n}={STATE},alloc,load,data,contents" for n in names]
    _run("objcopy", *flags, *renames, str(item))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{command[0]} failed on {command[-1]}: {done.stderr.strip()[:300]}")
