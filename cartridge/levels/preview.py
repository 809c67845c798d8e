"""Draws acts and sprites as PNG, without the emulator: for looking at them."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from cartridge.levels.art.canvas import Image
from cartridge.levels.art.hero import COLOURS as HERO_COLOURS
from cartridge.levels.art.hero import hero_frames
from cartridge.levels.art.hud import hud_frames
from cartridge.levels.art.objects import COLOURS as OBJECT_COLOURS
from cartridge.levels.art.objects import object_frames
from cartridge.levels.art.scenes import scenery
from cartridge.levels.cells import CELL, HEIGHT, Act, SpawnKind
from cartridge.levels.drawing import metatile_pictures
from cartridge.levels.generator import all_acts
from cartridge.levels.looks import look
from cartridge.levels.paint import paint
from cartridge.levels.zones import ZONES

Picture = NDArray[np.uint8]
MARKS = {
    SpawnKind.WALKER: 0,
    SpawnKind.HOPPER: 2,
    SpawnKind.SPRING_UP: 4,
    SpawnKind.RING: 6,
    SpawnKind.END_POST: 8,
}
"""Which object frame shows a spawn."""


def rgb(colours: tuple[str, ...]) -> Picture:
    """Octal colours to [n, 3] uint8 RGB, about as the console shows them."""
    return np.array([[int(d) * 255 // 7 for d in c] for c in colours], np.uint8)


def paste(picture: Picture, image: Image, x: int, y: int, colours: Picture) -> None:
    """Draw an indexed image with index 0 transparent, in place, cut at the borders."""
    top, left = max(0, -y), max(0, -x)
    part = image[top : picture.shape[0] - y, left : picture.shape[1] - x]
    spot = picture[y + top : y + top + part.shape[0], x + left : x + left + part.shape[1]]
    spot[part > 0] = colours[part[part > 0]]


def act_picture(act: Act) -> Picture:
    """The whole act [512, width, 3] with its background."""
    name = ZONES[act.zone].name
    style, width = look(name), act.width * CELL
    back = np.tile(scenery(style.scenery), (1, width // 512 + 1))[:, :width]
    above = back[:1].repeat(HEIGHT * CELL - len(back), 0)
    picture = rgb(("000", *style.back))[np.concatenate([above, back])]
    tiles, colours = metatile_pictures(name), rgb(("000", *style.ground))
    for x, column in enumerate(paint(act)):
        for y, metatile in enumerate(column):
            if metatile:
                paste(picture, tiles[metatile], x * CELL, y * CELL, colours)
    objects = object_frames()
    for spawn in act.spawns:
        image = objects[MARKS[spawn.kind]]
        corner = (spawn.x - image.shape[1] // 2, spawn.y - image.shape[0])
        paste(picture, image, *corner, rgb(OBJECT_COLOURS))
    paste(picture, hero_frames()[0], act.start[0] - 16, act.start[1] - 32, rgb(HERO_COLOURS))
    return picture


def sprite_sheet() -> Picture:
    """All sprites on a plain ground, [height, width, 3]."""
    sheet = np.full((170, 400, 3), (150, 180, 150), np.uint8)
    rows = ((hero_frames(), HERO_COLOURS), (object_frames(), OBJECT_COLOURS))
    for row, (frames, colours) in enumerate(rows):
        for i, image in enumerate(frames):
            paste(sheet, image, 4 + 36 * i, 8 + 44 * row, rgb(colours))
    for i, image in enumerate(hud_frames()):
        paste(sheet, image, 4 + 10 * (i % 30), 110 + 12 * (i // 30), rgb(HERO_COLOURS))
    return sheet


def write(folder: Path) -> list[Path]:
    """Write one PNG an act and one of the sprites. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "sprites.png"]
    cv2.imwrite(str(paths[0]), sprite_sheet().repeat(3, 0).repeat(3, 1)[:, :, ::-1])
    for act in all_acts():
        paths.append(folder / f"{ZONES[act.zone].name}.Act{act.number}.png")
        cv2.imwrite(str(paths[-1]), act_picture(act)[:, :, ::-1])
    return paths
