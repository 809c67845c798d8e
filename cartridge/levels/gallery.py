"""The gallery: a moment of every zone, taken while the oracle's proofs are replayed."""

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
from cartridge.levels.simulator import name_of
from cartridge.levels.zones import ZONES

Screen = NDArray[np.uint8]
GALLERY = Path(__file__).parent / "gallery.png"
COLUMNS = 5
"""Pictures side by side: the title and fourteen zones make three rows."""
WIDTH, HEIGHT = 320, 224
TITLE_FRAMES = 20
"""Until the title says what to press: it blinks."""
PLAIN = frozenset({SpawnKind.RING, SpawnKind.WIND})
"""Objects that make no picture by themselves."""
MARGIN = 0.06
"""Share of an act at either end from which no picture is taken."""


def richest(acts: list[Act], zone: str) -> Act:
    """The act of a zone with the most different objects."""
    own = [act for act in acts if ZONES[act.zone].name == zone]
    return max(own, key=lambda act: len({spawn.kind for spawn in act.spawns}))


def screen(env: RetroEnv) -> Screen:
    """What is on the screen, [HEIGHT, WIDTH, 3]."""
    return np.array(env.em.get_screen()[:HEIGHT, :WIDTH], np.uint8)


def interest(act: Act, status: Status) -> int:
    """How much there is to see around the hero: kinds of objects first, then their number."""
    if not MARGIN < status.part < 1 - MARGIN:
        return -1
    seen = [
        spawn.kind
        for spawn in act.spawns
        if -130 < spawn.x - status.x < 140 and -110 < spawn.y - status.y < 70
    ]
    return 10 * len(set(seen) - PLAIN) + min(9, len(seen))


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


def best_moment(console: Console, act: Act) -> Screen:
    """The screen of an act's proof on which most is to be seen."""
    best, picture = -2, np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for status in replayed(console, name_of(act)):
        if status.frame % FRAME_SKIP == 0 and (value := interest(act, status)) > best:
            best, picture = value, screen(console.env)
    return picture


def grid(pictures: list[Screen], *, columns: int) -> Screen:
    """Pictures of one size in rows, the last one filled up with black."""
    blank = np.zeros_like(pictures[0])
    filled = pictures + [blank] * (-len(pictures) % columns)
    rows = [np.hstack(filled[i : i + columns]) for i in range(0, len(filled), columns)]
    return np.vstack(rows)


def write_gallery(acts: list[Act], *, path: Path = GALLERY) -> Path:
    """The title and a moment of every zone as one PNG."""
    title = boot()
    for _ in range(TITLE_FRAMES):
        step(title)
    pictures = [screen(title)]
    title.close()
    with open_console() as console:
        pictures += [best_moment(console, richest(acts, zone.name)) for zone in ZONES]
    sheet = grid(pictures, columns=COLUMNS)[:, :, ::-1]
    cv2.imwrite(str(path), sheet, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    return path
