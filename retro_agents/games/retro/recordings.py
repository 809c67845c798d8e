"""Reads .bk2 recordings: a start state, and the buttons of every frame.

A recording is a zip file of Header.txt, Core.bin (the console's memory at the start) and Input
Log.txt (a line per frame). stable-retro's own reader never returns from some damaged ones.
"""

import lzma
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.integrations import full_name
from retro_agents.ground.errors import UserError

LARGEST = 2**26
"""Bytes of the largest part that is read; an hour of play has 4 million."""
DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(KeyError, ValueError, RuntimeError),  # a missing part, bad text, a password
)


@dataclass(frozen=True)
class Recording:
    """A recording's contents."""

    game: str
    state: bytes
    """The console's memory at the start."""
    pads: NDArray[np.uint8]
    """Buttons of each frame [frames,12], in the order of BUTTON_NAMES; the first frame is that of
    the reset."""


def read_recording(path: Path) -> Recording:
    """Reads a .bk2. Raises UserError if it is damaged or none, or if its game is unknown."""
    try:
        with zipfile.ZipFile(path) as archive:
            header, state, log = (
                read_part(archive, name) for name in ("Header.txt", "Core.bin", "Input Log.txt")
            )
        words = dict(line.split(" ", 1) for line in header.decode().splitlines())
        game, pads = words["GameName"], read_log(log.decode())
    except DAMAGES as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{path} is not a .bk2 recording, or a damaged one ({reason!r}): give files that "
            "record_dir wrote"
        ) from None
    return Recording(full_name(game), state, pads)


def read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of the recording, with its checksum compared. Raises one of DAMAGES."""
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(f"{name} has more than {LARGEST} bytes")
    return archive.read(name)


def read_log(log: str) -> NDArray[np.uint8]:
    """The first player's buttons of each frame of an input log -> [frames,12]. Raises one of
    DAMAGES. Its second line names the columns: P1 Z|P1 X|…|; a frame is |..|Z...|, with a dot for
    every button that is not held."""
    begin, keys, *rows, end = log.strip().split("\n")
    if (begin, end) != ("[Input]", "[/Input]") or not rows:
        raise ValueError("the input log is cut")
    names = [key.upper() for key in keys.strip("|").split("|")]
    order = [names.index(f"P1 {button}") for button in BUTTON_NAMES]
    held = ["".join(row.split("|")[2:]) for row in rows]
    if {len(row) for row in held} != {len(names)}:
        raise ValueError("the input log has lines of several lengths")
    text = np.frombuffer("".join(held).encode("ascii"), np.uint8).reshape(len(rows), -1)
    # The emulator reads a frame's bytes wherever they lie: they must lie together.
    return np.ascontiguousarray(text[:, order] != ord("."), np.uint8)
