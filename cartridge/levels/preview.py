"""Draws acts, zones and sprites as PNG for inspection, without the emulator."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from cartridge.levels.art.canvas import Image, paste
from cartridge.levels.art.hero import COLOURS as HERO_COLOURS
from cartridge.levels.art.hero import hero_frames
from cartridge.levels.art.logo import logo
from cartridge.levels.art.objects import COLOURS as OBJECT_COLOURS
from cartridge.levels.art.scenes import scenery
from cartridge.levels.art.sprites import sprite_frames
from cartridge.levels.cells import CELL, HEIGHT, Act, Spawn, SpawnKind
from cartridge.levels.drawing import metatile_pictures
from cartridge.levels.generator import all_acts
from cartridge.levels.looks import look
from cartridge.levels.paint import paint
from cartridge.levels.zones import ZONES, name_of
from retro_agents.ground.files import drafted

Picture = NDArray[np.uint8]
LINES = HERO_COLOURS, OBJECT_COLOURS
MARKS = {
    SpawnKind.WALKER: "walker",
    SpawnKind.HOPPER: "hopper",
    SpawnKind.SPRING_UP: "spring",
    SpawnKind.RING: "ring",
    SpawnKind.END_POST: "post",
    SpawnKind.SPRING_FORWARD: "spring_side",
    SpawnKind.SPRING_BACK: "spring_side",
    SpawnKind.PLATFORM_X: "platform",
    SpawnKind.PLATFORM_Y: "platform",
    SpawnKind.PLATFORM_CRUMBLE: "crumble",
    SpawnKind.PISTON: "piston_tip",
    SpawnKind.BREAKABLE: "breakable",
    SpawnKind.SWITCH: "switch",
    SpawnKind.GATE: "gate",
    SpawnKind.CHECKPOINT: "checkpoint",
    SpawnKind.SHOOTER: "shooter",
    SpawnKind.JUMPER: "jumper",
    SpawnKind.BOOSTER: "booster",
    SpawnKind.WIND: "wind",
}
"""The sprite of each kind of spawn; a loop is part of the ground."""
HALVES = frozenset({"platform", "crumble"})
"""Sprites that are drawn twice, the second time mirrored, and hang from their top."""


def rgb(colours: tuple[str, ...]) -> Picture:
    """Converts octal colours to [n, 3] uint8 RGB, roughly as the console shows them."""
    return np.array([[int(d) * 255 // 7 for d in c] for c in colours], np.uint8)


def act_picture(act: Act) -> Picture:
    """The whole act [512, width, 3] with its background."""
    name = ZONES[act.zone].name
    style, width = look(name), act.width * CELL
    back = np.tile(scenery(style.scenery), (1, width // 512 + 1))[:, :width]
    above = np.ones((HEIGHT * CELL - len(back), width), np.uint8)
    picture = rgb(("000", *style.back))[np.concatenate([above, back])]
    tiles, colours = metatile_pictures(name), rgb(("000", *style.ground))
    for x, column in enumerate(paint(act)):
        for y, metatile in enumerate(column):
            if metatile:
                paste(picture, tiles[metatile], x * CELL, y * CELL, colours)
    images = {frame.name: frame.image for frame in reversed(sprite_frames())}
    for spawn in act.spawns:
        _object(picture, spawn, images)
    paste(picture, hero_frames()[0], act.start[0] - 16, act.start[1] - 32, rgb(HERO_COLOURS))
    return picture


def _object(picture: Picture, spawn: Spawn, images: dict[str, Image]) -> None:
    if spawn.kind not in MARKS:
        return
    name = MARKS[spawn.kind]
    image, y = images[name], spawn.y
    if name in HALVES:
        image = np.concatenate([image, image[:, ::-1]], 1)
        y += image.shape[0]
    if spawn.kind in (SpawnKind.BREAKABLE, SpawnKind.GATE):
        high = spawn.arg if spawn.kind is SpawnKind.BREAKABLE else spawn.arg2
        image = np.tile(image, (high, 1))
    if spawn.kind is SpawnKind.SPRING_BACK:
        image = image[:, ::-1]
    corner = (spawn.x - image.shape[1] // 2, y - image.shape[0])
    paste(picture, image, *corner, rgb(OBJECT_COLOURS))


def sprite_sheet() -> Picture:
    """The logo and all sprites on a plain ground, [height, width, 3]."""
    sheet = np.full((310, 330, 3), (120, 150, 190), np.uint8)
    paste(sheet, logo(), 53, 4, rgb(HERO_COLOURS))
    x, y, tallest = 4, 90, 0
    for frame in sprite_frames():
        height, width = frame.image.shape
        if x + width > sheet.shape[1] - 4:
            x, y, tallest = 4, y + tallest + 4, 0
        paste(sheet, frame.image, x, y, rgb(LINES[frame.line]))
        x, tallest = x + width + 4, max(tallest, height)
    return sheet


def write_png(path: Path, picture: Picture, *, flags: tuple[int, ...] = ()) -> Path:
    """Write an RGB picture as a PNG. flags: OpenCV's. Raises UserError if it cannot be written."""
    done, png = cv2.imencode(".png", picture[:, :, ::-1], flags)
    assert done
    with drafted(path) as draft:
        draft.write_bytes(png.tobytes())
    return path


def write(folder: Path) -> list[Path]:
    """Write one PNG per act and one of the sprites. Returns their paths. Raises UserError if one
    cannot be written."""
    paths = [write_png(folder / "sprites.png", sprite_sheet().repeat(3, 0).repeat(3, 1))]
    for act in all_acts():
        paths.append(write_png(folder / f"{name_of(act)}.png", act_picture(act)))
    return paths
