"""Ground metatiles, from a pattern and a cover. Colours of palette line 2, by role:

1 outline; 2-5 soil, dark to light; 6-9 cover, dark to light; a, b wood or brick, dark and light;
c spike light, d spike shade; e, f accents (where there is water, its body and its foam)."""

from collections.abc import Sequence

import numpy as np

from cartridge.levels.art.canvas import Image, blank
from cartridge.levels.art.covers import DEPTH, cover
from cartridge.levels.art.patterns import texture
from cartridge.levels.cells import CELL, Cell, surface_height


def ground(pattern: Image, top: Image, heights: Sequence[int], *, sides: str, copy: int) -> Image:
    """One metatile of ground. heights: filled pixels from its bottom at each x; 16 more than that
    where the surface lies in the cell above. sides: any of l, r, b, which are open."""
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
    slope = base.upper() in Cell.__members__
    if not slope:
        return [CELL if name.startswith("top") else 99] * CELL
    extra = CELL if name.startswith("under_") else 0
    return [surface_height(Cell[base.upper()], x) + extra for x in range(CELL)]


def sides_of(name: str) -> str:
    """Which sides of a class of ground metatiles are open."""
    bottom = "b" if name.startswith("ceil") else ""
    tail = name.split("_")[-1]
    return bottom + (tail if tail in ("l", "r", "lr") else "")


def metatile_images(
    pattern_name: str, cover_name: str, classes: Sequence[str]
) -> dict[str, list[Image]]:
    """Four copies of every class of ground."""
    pattern, top = texture(pattern_name), cover(cover_name)
    dark = np.maximum(pattern - 1, 2).astype(np.uint8)
    woven = np.where(np.indices(pattern.shape).sum(0) % 2, pattern, dark)
    stones = {"dim": woven, "deep": dark}
    made: dict[str, list[Image]] = {}
    for name in classes:
        stone, heights = stones.get(name.split("_")[0], pattern), heights_of(name)
        made[name] = [
            ground(stone, top, heights, sides=sides_of(name), copy=copy) for copy in range(4)
        ]
    return made
