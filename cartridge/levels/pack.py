"""Acts and art as one binary, for the game without an emulator (cartridge/host/tables.c reads it).

The binary has little-endian words: a head with offsets in bytes from the start, then the data. It
is compressed with gzip, the same every time."""

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cartridge.levels import drawing
from cartridge.levels.cells import Act
from cartridge.levels.generator import all_acts
from cartridge.levels.paint import METATILE_COUNT, metatile_shapes, paint
from cartridge.levels.tiles import TileSet
from cartridge.levels.zones import ZONES, name_of

FILE = "game.pack"
MAGIC = int.from_bytes(b"BDP2", "little")
HEAD_WORDS = 13
SPAWN = np.dtype("u1,u1,u2,u2,u1,u1", align=True)
"""The engine's struct Spawn."""


class Blob:
    """A growing buffer; every array in it begins at a multiple of eight."""

    def __init__(self) -> None:
        self.data = bytearray(HEAD_WORDS * 4)

    def put(self, values: Iterable[Any], dtype: Any) -> int:
        """Append an array. Returns its offset."""
        self.data.extend(bytes(-len(self.data) % 8))
        at = len(self.data)
        self.data.extend(np.array(values, dtype).tobytes())
        return at


def act_row(blob: Blob, act: Act) -> list[int]:
    """Puts an act's map and spawns into the blob. Returns the act's numbers."""
    spawns = [(int(s.kind), s.arg, s.x, s.y, s.arg2 & 0xFF, s.arg3) for s in act.spawns]
    places = [blob.put(paint(act), "u1"), blob.put(spawns, SPAWN), len(spawns)]
    return [act.zone, act.number, act.width, *places, *act.start, act.end_x, act.water_y]


def zone_row(blob: Blob, name: str) -> list[int]:
    """Puts a zone's art into the blob. Returns the zone's numbers."""
    art = drawing.zone_art(name)
    palette = blob.put(drawing.palette_words(name), "<u2")
    level = [blob.put(art.level.words, "<u4"), len(art.level.words)]
    metatiles = [blob.put(art.metatiles, "<u2"), METATILE_COUNT]
    back = [blob.put(art.back.words, "<u4"), len(art.back.words)]
    return [palette, *level, *metatiles, *back, blob.put(art.back_map, "<u2")]


def pack(acts: Sequence[Act], *, art: bool = True) -> bytes:
    """The binary of these acts, uncompressed. Without art, it is loaded after one with art."""
    blob = Blob()
    act_rows = [act_row(blob, act) for act in acts]
    zones = [zone.name for zone in ZONES] if art else []
    zone_rows = [zone_row(blob, name) for name in zones]
    sprites = drawing.sprite_tiles() if art else []
    logo, logo_rows = drawing.logo_art() if art else (TileSet(first=0, limit=0), [])
    names = "\n".join(name_of(act) for act in acts).encode()
    head = [MAGIC, len(acts), len(zones), len(sprites), len(logo.words)]
    head += [blob.put(act_rows, "<u4"), blob.put(zone_rows, "<u4")]
    head += [blob.put(metatile_shapes(), "u1"), blob.put(sprites, "<u4")]
    head += [blob.put(logo.words, "<u4"), blob.put(logo_rows, "<u2")]
    head += [blob.put(np.frombuffer(names, "u1"), "u1"), len(names)]
    blob.data[: HEAD_WORDS * 4] = np.array(head, "<u4").tobytes()
    return bytes(blob.data)


def write(folder: Path, acts: Sequence[Act] | None = None) -> Path:
    """Write the pack of these acts, by default of the committed cartridge, into a game's folder.
    Returns its path."""
    path = folder / FILE
    path.write_bytes(gzip.compress(pack(all_acts() if acts is None else acts), mtime=0))
    return path
