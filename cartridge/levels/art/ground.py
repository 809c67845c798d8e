"""Ground metatiles, from a pattern and a cover. Colours of palette line 2, by role:

1 outline; 2-5 soil, dark to light; 6-9 cover, dark to light; a, b wood or brick, dark and light;
c spike light, d spike shade; e, f accents (where there is water, its body and its foam)."""

from collections.abc import Sequence

import numpy as np

from cartridge.levels.art.canvas import Image, ball, blank, ellipse
from cartridge.levels.art.covers import DEPTH, cover
from cartridge.levels.art.patterns import texture
from cartridge.levels.cells import CELL, Cell, surface_height

ORDER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])
"""Bayer's order of 4x4 pixels, in which a shade thickens."""


def ground(pattern: Image, top: Image, heights: Sequence[int], *, sides: str, copy: int) -> Image:
    """One metatile of ground. heights: filled pixels from its bottom at each x, plus 16 where the
    surface is in the cell above. sides: the open ones of l, r, b."""
    image = blank(CELL, CELL)
    x0, y0 = CELL * (copy % 2), CELL * (copy // 2)
    for x in range(CELL):
        for y in range(CELL):
            depth = heights[x] - (CELL - y)
            if depth < 0:
                continue
            shade = int(top[depth, x0 + x]) if depth < DEPTH else 0
            image[y, x] = shade or _edge(x, y, int(pattern[y0 + y, x0 + x]), sides)
            if ("l" in sides and x == 0) or ("r" in sides and x == 15):
                image[y, x] = 1
    return image


def _edge(x: int, y: int, colour: int, sides: str) -> int:
    """Light on the left side of a cliff, shade on the right and below."""
    if "b" in sides and y >= 14:
        return 1 if y == 15 else 2
    if "l" in sides and x <= 2:
        return min(5, colour + 1)
    if "r" in sides and x >= 13:
        return max(2, colour - 1)
    return colour


def heights_of(name: str) -> list[int]:
    """The heights of a class of ground metatiles, by its name in paint.GROUND_CLASSES."""
    base = name.removeprefix("under_")
    if base.upper() not in Cell.__members__:
        return [CELL if name.startswith("top") else 99] * CELL
    extra = CELL if name.startswith("under_") else 0
    return [surface_height(Cell[base.upper()], x) + extra for x in range(CELL)]


def sides_of(name: str) -> str:
    """The open sides of a class of ground metatiles."""
    bottom = "b" if name.startswith("ceil") else ""
    tail = name.split("_")[-1]
    return bottom + (tail if tail in ("l", "r", "lr") else "")


def metatile_images(
    pattern_name: str, cover_name: str, classes: Sequence[str]
) -> dict[str, list[Image]]:
    """Four copies of every class of ground."""
    pattern, top = texture(pattern_name), cover(cover_name)
    dark = np.maximum(pattern - 1, 2).astype(np.uint8)
    order = np.kron(np.ones((8, 8), np.int64), ORDER)
    fall = np.arange(2 * CELL)[:, None] % CELL // 2
    patterns = {
        "dim": np.where(order < fall, dark, pattern),
        "dusk": np.where(order < fall + 8, dark, pattern),
        "deep": dark,
    }
    made: dict[str, list[Image]] = {}
    for name in classes:
        soil, heights = patterns.get(name.split("_")[0], pattern), heights_of(name)
        images = [ground(soil, top, heights, sides=sides_of(name), copy=copy) for copy in range(4)]
        if name.startswith("stone"):
            for image in images:
                stone(image, light="light" in name)
        made[name] = images
    return made


def stone(image: Image, *, light: bool) -> None:
    """A stone in a metatile of ground, in place: it stands out, or lies in the shade."""
    ellipse(image, (8, 8), (6.2, 5.6), 2)
    ball(image, (8, 7.5), (5.2, 4.6), (4, 5, 5) if light else (2, 3))
