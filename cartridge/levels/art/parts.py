"""Platforms, spikes, blocks, water and the loop. Colours as in art/ground.py."""

from collections.abc import Callable

import numpy as np

from cartridge.levels.art.canvas import Image, ball, blank, polygon
from cartridge.levels.cells import CELL

LOOP_CELLS = 7
"""Columns and rows of a loop's picture."""
LOOP_CENTRE, LOOP_RADIUS = (56, 64), 48


def planks() -> Image:
    """A board with turf on it and struts below: left end, middle, right end."""
    image = blank(3 * CELL, CELL)
    image[0] = image[7] = 1
    image[1] = 9
    image[2:4] = 8
    image[3, ::3] = image[4] = 6
    image[5:7] = 10
    image[5, 2::8] = 11
    for x in range(4, 3 * CELL, 8):
        image[8:11, x] = 10
        image[8:10, x + 1] = 1
    image[:8, 0] = image[:8, -1] = 1
    image[7:, :2] = image[7:, -2:] = 0
    return image


def girder() -> Image:
    """A lattice of iron under a light rail."""
    image = blank(3 * CELL, CELL)
    image[0] = image[11] = 1
    image[1] = 9
    image[2] = 11
    image[3] = image[10] = 10
    image[9] = 11
    for x in range(3 * CELL):
        at = x % 16
        y = 4 + (at if at < 8 else 15 - at) * 5 // 7
        image[y, x] = 11
        image[min(9, y + 1), x] = 10
    image[0:12, 0] = image[0:12, -1] = 1
    return image


def slab() -> Image:
    """A slab of stone, thinner towards its ends."""
    image = blank(3 * CELL, CELL)
    image[1] = 9
    image[2] = 5
    image[3:6] = 4
    image[6:8] = 3
    image[8:10] = 2
    image[0] = image[10] = 1
    image[3:9, 15::16] = 2
    image[4, 5::16] = image[6, 10::16] = 5
    for y in range(2, 12):
        cut = max(0, y - 4)
        image[y, :cut] = image[y, 48 - cut :] = 0
        image[y, cut] = image[y, 47 - cut] = 1
    image[0:3, 0] = image[0:3, -1] = 1
    return image


def cloud() -> Image:
    """A firm cloud, flat above and puffy below."""
    image = blank(3 * CELL, CELL)
    for i, x in enumerate(range(4, 48, 8)):
        ball(image, (x, 6), (6, 6 + i % 2), (4, 5, 12))
    image[:1] = 0
    image[1:3][image[1:3] == 0] = 5
    image[1] = 12
    image[0] = 1
    image[:3, 0] = image[:3, -1] = 1
    solid = np.pad(image > 0, 1)
    image[(solid[:-2, 1:-1] & (image == 0))] = 1
    return image


def platform(style: str) -> dict[str, Image]:
    """Left end, middle and right end of a floating platform."""
    made: dict[str, Callable[[], Image]] = {
        "planks": planks,
        "girder": girder,
        "slab": slab,
        "cloud": cloud,
    }
    image = made[style]()
    return {f"platform_{part}": image[:, 16 * i : 16 * i + 16] for i, part in enumerate("lmr")}


def spike(style: str) -> Image:
    """Bright points with dark outlines on the full width of a cell."""
    tips = {
        "thorns": ((4, 1, 4), (12, 1, 4)),
        "blades": ((3, 1, 3), (8, 1, 3), (13, 1, 3)),
        "icicles": ((4, 4, 4), (12, 5, 4), (8, 0, 4)),
        "shells": ((3, 5, 4), (13, 5, 4), (8, 1, 5)),
    }
    image = blank(CELL, CELL)
    for x, top, half in tips[style]:
        polygon(image, [(x, top - 3), (x + half + 1.2, 16), (x - half - 1.2, 16)], 1)
    for x, top, half in tips[style]:
        polygon(image, [(x, top), (x + half - 0.4, 15), (x - half + 0.4, 15)], 13)
        polygon(image, [(x, top), (x + half * 0.3, 15), (x - half + 0.4, 15)], 12)
    image[15] = 1
    return image


def framed(face: int, *, light: int, dark: int) -> Image:
    """A block lit above and left, dark below and right."""
    image = blank(CELL, CELL, face)
    image[1, 1:15] = image[1:15, 1] = light
    image[14, 1:15] = image[1:15, 14] = dark
    image[0] = image[15] = image[:, 0] = image[:, 15] = 1
    return image


def brick() -> Image:
    """A wall of three bricks."""
    image = framed(11, light=11, dark=10)
    image[7, 1:15] = image[8:14, 7] = 1
    image[6, 1:15] = 10
    image[1, 1:14] = image[8, 1:7] = image[8, 8:14] = 5
    return image


def stone() -> Image:
    """One cut stone with a rough face."""
    image = framed(4, light=5, dark=2)
    image[13, 2:14] = image[2:14, 13] = 3
    for x, y in ((5, 4), (9, 6), (4, 9), (10, 10), (7, 12)):
        image[y, x : x + 2] = 3
        image[y + 1, x] = 5
    return image


def steel() -> Image:
    """A plate with a rivet in every corner and a cross."""
    image = framed(4, light=5, dark=2)
    for i in range(4, 12):
        image[i, i] = image[i, 15 - i] = 5
        image[i + 1, i] = image[i + 1, 15 - i] = 3
    for y in (3, 12):
        for x in (3, 12):
            image[y, x] = 9
    return image


def ice() -> Image:
    """A clear cube."""
    image = framed(5, light=9, dark=3)
    image[13, 2:14] = image[2:14, 13] = 4
    for i in range(3, 9):
        image[11 - i, i] = image[12 - i, i] = 9
    for i in range(7, 12):
        image[18 - i, i] = 8
    return image


def crate() -> Image:
    """A wooden box with a slanting board."""
    image = framed(10, light=11, dark=10)
    image[3:13, 3:13] = 10
    for i in range(3, 13):
        image[15 - i, i] = 11
        image[14 - i, i] = image[16 - i, i] = 1
    image[1:3, 1:15] = image[13:15, 1:15] = image[1:15, 1:3] = image[1:15, 13:15] = 11
    image[3, 3:13] = image[3:13, 3] = image[12, 3:13] = image[3:13, 12] = 1
    image[14, 2:15] = image[2:15, 14] = 10
    return image


def marble() -> Image:
    """A drum of a column."""
    image = framed(4, light=5, dark=2)
    for x in (4, 8, 12):
        image[3:13, x] = 2
        image[3:13, x - 1] = 5
    image[3, 1:15] = image[12, 1:15] = 2
    image[2, 1:15] = image[13, 1:15] = 5
    return image


def block(style: str, *, top: bool) -> Image:
    """A built block; the topmost carries a strip of the ground's cover."""
    made: dict[str, Callable[[], Image]] = {
        "brick": brick,
        "stone": stone,
        "steel": steel,
        "ice": ice,
        "crate": crate,
        "marble": marble,
    }
    image = made[style]()
    if top:
        image[1:3, 1:15] = 9
        image[2, ::3] = image[3, 1:15] = 7
        image[4, 1:15] = 6
        image[:5, 0] = image[:5, 15] = 1
    return image


def water() -> dict[str, Image]:
    """Surface (two, side by side) and body: every other pixel, so that things show through."""
    image = blank(2 * CELL, 2 * CELL)
    for y in range(2 * CELL):
        image[y, (y % 2) :: 2] = 14
    for x in range(2 * CELL):
        crest = (2, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 2)[x % 16]
        image[:crest, x] = 0
        image[crest : crest + 2, x] = 15
        image[crest + 2, x] = 14
    for x, y in ((5, 20), (6, 20), (20, 27), (21, 27)):
        image[y, x] = 15
    left, right = image[:CELL, :CELL], image[:CELL, CELL:]
    return {"water_l": left, "water_r": right, "water": image[CELL:, :CELL]}


def loop() -> Image:
    """A loop [112, 112]: a band that a runner follows on its inner side, its foot in the ground."""
    size = LOOP_CELLS * CELL
    image = blank(size, size)
    steps = np.arange(size)
    across = (steps[None, :] * 2 + 1 - 2 * LOOP_CENTRE[0]) ** 2
    away = across + (steps[:, None] * 2 + 1 - 2 * LOOP_CENTRE[1]) ** 2
    for i, colour in enumerate((1, 9, 8, 7, 4, 3, 3, 1)):
        inner, outer = 2 * (LOOP_RADIUS + i), 2 * (LOOP_RADIUS + i + 1)
        image[(away >= inner**2) & (away < outer**2)] = colour
    return image


def parts(*, block_style: str, platform_style: str, spike_style: str) -> dict[str, Image]:
    """The metatiles of paint.PARTS, by name."""
    made = platform(platform_style) | {"spike": spike(spike_style)} | water()
    made |= {"block_top": block(block_style, top=True), "block": block(block_style, top=False)}
    whole = loop()
    for row in range(LOOP_CELLS):
        for column in range(LOOP_CELLS):
            y, x = row * CELL, column * CELL
            made[f"loop_{row}{column}"] = whole[y : y + CELL, x : x + CELL]
    return made
