"""Ground, platforms, spikes and blocks. Colours of palette line 2, by role:

1 outline; 2-5 soil, dark to light; 6-9 grass, dark to light; a, b wood or brick, dark and light;
c spike light, d spike shade; e, f accents."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from cartridge.levels.art.canvas import Image, blank, polygon
from cartridge.levels.cells import CELL, Cell, surface_height

PERIOD = 32
"""Pixels after which the ground's pattern repeats."""


def stones(seed: str, count: int, *, stretch: float, colours: Sequence[int]) -> Image:
    """A pattern of irregular stones that wraps around: colours are joint, dark, middle, light."""
    rng = Random(seed)
    points = [(rng.randrange(PERIOD), rng.randrange(PERIOD)) for _ in range(count)]
    tints = [rng.choice((1, 2, 2)) for _ in points]
    image = blank(PERIOD, PERIOD)
    for y in range(PERIOD):
        for x in range(PERIOD):
            reach = sorted(
                (_wrapped(x - px) ** 2 + (stretch * _wrapped(y - py)) ** 2, i)
                for i, (px, py) in enumerate(points)
            )
            edge = reach[1][0] ** 0.5 - reach[0][0] ** 0.5
            px, py = points[reach[0][1]]
            upper = _wrapped(x - px) + 1.3 * _wrapped(y - py) < -3
            shade = 3 if upper and edge < 3.2 else tints[reach[0][1]]
            image[y, x] = colours[0 if edge < 1.3 else shade]
    return image


def _wrapped(d: int) -> int:
    return (d + PERIOD // 2) % PERIOD - PERIOD // 2


def texture(name: str) -> Image:
    """The pattern [32, 32] of a zone's ground."""
    made: dict[str, Callable[[], Image]] = {
        "soil": lambda: stones("soil", 9, stretch=1.25, colours=(2, 3, 4, 4)),
        "rock": lambda: stones("rock3", 8, stretch=1.15, colours=(2, 3, 4, 5)),
        "ice": lambda: stones("ice", 8, stretch=0.8, colours=(2, 3, 4, 5)),
    }
    return made[name]()


def fringe(name: str) -> list[int]:
    """How deep the grass hangs at each of 32 columns."""
    rng = Random(f"fringe.{name}")
    depth, profile = 6, []
    for x in range(PERIOD):
        depth = 5 + (x * 7 % 4) + rng.randint(-1, 1) if x % 2 else depth - 1
        profile.append(max(4, min(9, depth)))
    return profile


def ground(
    pattern: Image, grass: Sequence[int], heights: Sequence[int], *, sides: str, copy: int
) -> Image:
    """One metatile of ground. heights: filled pixels from its bottom at each x; 16 more than that
    where the surface lies in the cell above. sides: any of l, r, b, which are open."""
    image = blank(CELL, CELL)
    x0, y0 = CELL * (copy % 2), CELL * (copy // 2)
    for x in range(CELL):
        for y in range(CELL):
            depth = heights[x] - (CELL - y)
            if depth < 0:
                continue
            shade = _band(depth, grass[x0 + x])
            image[y, x] = shade or _edge(x, y, int(pattern[y0 + y, x0 + x]), sides)
            if ("l" in sides and x == 0) or ("r" in sides and x == 15):
                image[y, x] = 1
    return image


def _band(depth: int, hang: int) -> int:
    """The grass's colour at a depth below the surface, 0 below it."""
    if depth == 0:
        return 1
    if depth == 1:
        return 9
    if depth <= hang - 3:
        return 8
    if depth <= hang - 1:
        return 7
    if depth == hang:
        return 6
    return 1 if depth == hang + 1 else 0


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


def platform(part: str) -> Image:
    """A floating platform's left end, middle or right end."""
    image = blank(CELL, CELL)
    image[0:7] = 11
    image[0] = image[7] = 1
    image[1] = 9
    image[2:4] = 8
    image[3, ::3] = 6
    image[4] = 6
    image[5:7] = 10
    image[5, 2::8] = 11
    for x in (4, 12):
        image[8:11, x] = 10
        image[8:10, x + 1] = 1
    if part == "l":
        image[:8, 0] = 1
        image[7:, :2] = 0
    if part == "r":
        image[:8, 15] = 1
        image[7:, 14:] = 0
    return image


def spike() -> Image:
    """Two bright thorns with dark outlines."""
    image = blank(CELL, CELL)
    for x in (0, 8):
        polygon(image, [(x + 4, -1), (x + 8.2, 16), (x - 0.2, 16)], 1)
        polygon(image, [(x + 4, 2), (x + 7, 15), (x + 1, 15)], 13)
        polygon(image, [(x + 4, 2), (x + 4, 15), (x + 1, 15)], 12)
    image[15] = 1
    return image


def block(*, top: bool) -> Image:
    """A built block: lit above and left, dark below and right."""
    image = blank(CELL, CELL, 11)
    image[:, 0] = image[:, 15] = image[15] = 1
    image[14, 1:15] = image[1:15, 14] = 10
    image[7, 1:15] = 1
    image[8:14, 7] = 1
    image[6, 1:15] = 10
    image[1, 1:14] = 5
    image[8, 1:7] = image[8, 8:14] = 5
    if top:
        image[0] = 1
        image[1:3] = 9
        image[1, 0] = image[1, 15] = 1
        image[2, ::3] = 7
        image[3, 1:15] = 10
    return image


def metatile_images(pattern_name: str, classes: Sequence[str]) -> dict[str, list[Image]]:
    """Four copies of every class of ground."""
    pattern, grass = texture(pattern_name), fringe(pattern_name)
    dark = np.maximum(pattern - 1, 2).astype(np.uint8)
    made: dict[str, list[Image]] = {}
    for name in classes:
        stone, heights = dark if name.startswith("deep") else pattern, heights_of(name)
        made[name] = [
            ground(stone, grass, heights, sides=sides_of(name), copy=copy) for copy in range(4)
        ]
    return made


def parts() -> dict[str, Image]:
    """The metatiles of paint.PARTS."""
    made = {f"platform_{part}": platform(part) for part in "lmr"}
    made |= {"spike": spike(), "block_top": block(top=True), "block": block(top=False)}
    return {name: np.ascontiguousarray(image) for name, image in made.items()}
