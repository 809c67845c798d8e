"""The gallery: a moment of every zone, from replays of the oracle's proofs."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from stable_retro import RetroEnv

from cartridge.build_states import boot, step
from cartridge.levels.cells import Act, SpawnKind
from cartridge.levels.console import FRAME_SKIP, MASKS, Console, Status, open_console
from cartridge.levels.oracle import read_proof
from cartridge.levels.preview import write_png
from cartridge.levels.zones import ZONES, name_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import make_folder

Screen = NDArray[np.uint8]
GALLERY = Path(__file__).parent / "gallery.png"
COLUMNS = 5
"""Pictures per row: the title and fourteen zones make three rows."""
WIDTH, HEIGHT = 320, 224
TITLE_FRAMES = 40
"""Frames until the blinking text of the title is visible."""
PLAIN = frozenset({SpawnKind.RING, SpawnKind.WIND})
"""Objects that are not worth a picture by themselves."""
WET = 0.05
"""The worth of a hero below the water's surface, as a share of rarity."""
MARGIN = 0.06
"""Share of an act at either end from which no picture is taken."""


def richest(acts: list[Act], zone: str) -> Act:
    """The act of a zone with the most different objects."""
    own = [act for act in acts if ZONES[act.zone].name == zone]
    return max(own, key=lambda act: len({spawn.kind for spawn in act.spawns}))


def screen(env: RetroEnv) -> Screen:
    """The current screen, [HEIGHT, WIDTH, 3]."""
    return np.array(env.em.get_screen()[:HEIGHT, :WIDTH], np.uint8)


def rarity(acts: list[Act]) -> dict[SpawnKind, float]:
    """The worth of each kind of object in a picture: rarer kinds are worth more."""
    counts = Counter(spawn.kind for act in acts for spawn in act.spawns)
    return {kind: 0.0 if kind in PLAIN else 1 / count for kind, count in counts.items()}


def interest(act: Act, status: Status, worth: dict[SpawnKind, float]) -> float:
    """The total worth of the kinds of objects in view around the hero."""
    if not MARGIN < status.part < 1 - MARGIN:
        return -1.0
    seen = {
        spawn.kind
        for spawn in act.spawns
        if -120 < spawn.x - status.x < 130 and -100 < spawn.y - status.y < 30
    }
    return sum(worth[kind] for kind in seen) + WET * (status.y > act.water_y + 16)


def replayed(console: Console, level: str) -> Iterator[Status]:
    """Each frame of a level's proof, as its status."""
    status = console.start(level)
    yield status
    for action in read_proof(level):
        for _ in range(FRAME_SKIP):
            console.frames(MASKS[action], 1)
            status = console.status()
            if status.over:
                return
            yield status


def best_moment(console: Console, act: Act, worth: dict[SpawnKind, float]) -> Screen:
    """The most interesting screen of an act's proof."""
    best, picture = -2.0, np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for status in replayed(console, name_of(act)):
        if status.frame % FRAME_SKIP == 0 and (value := interest(act, status, worth)) > best:
            best, picture = value, screen(console.env)
    return picture


def grid(pictures: list[Screen], *, columns: int) -> Screen:
    """Arranges pictures of one size in rows; the last row is filled with black."""
    blank = np.zeros_like(pictures[0])
    filled = pictures + [blank] * (-len(pictures) % columns)
    rows = [np.hstack(filled[i : i + columns]) for i in range(0, len(filled), columns)]
    return np.vstack(rows)


def write_gallery(acts: list[Act], *, path: Path = GALLERY) -> Path:
    """Write the title and a moment of every zone as one PNG. Raises UserError if it cannot."""
    if path.suffix != ".png":
        raise UserError(f"cannot write {path}: the gallery is a PNG; give a name that ends in .png")
    make_folder(path.parent)  # before the proofs are replayed, which takes long
    title = boot()
    for _ in range(TITLE_FRAMES):
        step(title)
    pictures = [screen(title)]
    title.close()
    with open_console() as console:
        worth = rarity(acts)
        pictures += [best_moment(console, richest(acts, zone.name), worth) for zone in ZONES]
    flags = (cv2.IMWRITE_PNG_COMPRESSION, 9)
    return write_png(path, grid(pictures, columns=COLUMNS), flags=flags)
