"""The ground's patterns: 32x32 pixels that wrap around, in the colours 2 (dark) to 5 (light)."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random

import numpy as np

from cartridge.levels.art.canvas import (
    Image,
    Point,
    blank,
    ellipse,
    ellipse_mask,
    line,
    polygon,
    wave,
)

PERIOD = 32
"""Pixels after which the ground's pattern repeats."""
AROUND = ((1.0, 0.0), (0.7, 0.7), (0.0, 1.0), (-0.7, 0.7))
"""Four of eight directions; the others are their opposites."""


def stones(seed: str, count: int, *, stretch: float, colours: Sequence[int]) -> Image:
    """Irregular stones: colours are joint, dark, middle, light."""
    rng = Random(seed)
    points = [(rng.randrange(PERIOD), rng.randrange(PERIOD)) for _ in range(count)]
    tints = [rng.choice((1, 2, 2)) for _ in points]
    image = blank(PERIOD, PERIOD)
    for x, y, owner, (dx, dy), edge in _regions(points, stretch):
        shade = 3 if dx + 1.3 * dy < -3 and edge < 3.2 else tints[owner]
        image[y, x] = colours[0 if edge < 1.3 else shade]
    return image


def facets() -> Image:
    """Crystals: each cell lit on one side of a diagonal."""
    rng = Random("facets")
    points = [(rng.randrange(PERIOD), rng.randrange(PERIOD)) for _ in range(9)]
    leans = [rng.choice((-1, 1)) for _ in points]
    image = blank(PERIOD, PERIOD)
    for x, y, owner, (dx, dy), edge in _regions(points, 0.75):
        side = dx + leans[owner] * dy // 2
        image[y, x] = 2 if edge < 0.7 else 5 if side in (-1, 0) else 4 if side < 0 else 3
    return image


def _regions(
    points: Sequence[tuple[int, int]], stretch: float
) -> Iterator[tuple[int, int, int, tuple[int, int], float]]:
    """Yields each pixel's x and y, the number of the nearest point, the way from there, and how
    much further the next point is. Distances wrap around."""
    for y in range(PERIOD):
        for x in range(PERIOD):
            ways = [(_wrapped(x - px), _wrapped(y - py)) for px, py in points]
            near = sorted((dx**2 + (stretch * dy) ** 2, i) for i, (dx, dy) in enumerate(ways))
            owner = near[0][1]
            yield x, y, owner, ways[owner], near[1][0] ** 0.5 - near[0][0] ** 0.5


def _wrapped(d: int) -> int:
    return (d + PERIOD // 2) % PERIOD - PERIOD // 2


def courses(heights: Sequence[int], width: int, *, joint: int, seed: str) -> Image:
    """Courses of cut stone, each shifted against the last. heights sum up to 32."""
    image, rng, top = blank(PERIOD, PERIOD), Random(seed), 0
    for i, height in enumerate(heights):
        shift = (i % 2) * width // 2 + (i // 2 % 2) * 3
        for start in range(0, PERIOD, width):
            tint = rng.choice((4, 4, 3))
            columns = [(start + shift + dx) % PERIOD for dx in range(width)]
            image[top : top + height, columns] = tint
            image[top, columns] = 5
            image[top + height - 1, columns] = joint
            image[top : top + height, columns[0]] = joint
            image[top + 1 : top + height - 1, columns[1]] = 5
        top += height
    return image


def strata() -> Image:
    """Layers of sediment, thick and thin."""
    image = blank(PERIOD, PERIOD)
    shades = [4, 4, 4, 5, 3, 3, 3, 2, 4, 4, 5, 5, 4, 3, 2, 3, 3, 3, 4, 2]
    shades += [4, 4, 5, 4, 4, 3, 3, 2, 3, 4, 4, 2]
    for x in range(PERIOD):
        bend = round(1.6 * wave(x / 32) + 0.8 * wave(x / 16 + 0.2))
        for y in range(PERIOD):
            image[y, x] = shades[(y + bend) % PERIOD]
    for x, y, height in ((5, 0, 7), (6, 6, 4), (19, 14, 6), (18, 19, 4), (27, 22, 6)):
        image[y : y + height, x] = 2
    return image


def plates() -> Image:
    """Riveted plates of iron, one wide and two narrow ones."""
    image = blank(PERIOD, PERIOD, 3)
    for x, y, width in ((0, 0, 32), (0, 16, 16), (16, 16, 16)):
        image[y : y + 16, x : x + width] = 3
        image[y, x : x + width] = image[y : y + 15, x] = 5
        image[y + 1, x + 1 : x + width - 1] = 4
        image[y + 15, x : x + width] = image[y : y + 16, x + width - 1] = 2
        for px in (x + 3, x + width - 5):
            for py in (y + 3, y + 11):
                image[py : py + 2, px : px + 2] = 2
                image[py, px] = 5
    for x in range(7, 27, 4):
        image[5:11, x : x + 2] = 2
    image[20:28, 22:27] = 4
    image[21:27:2, 23:26] = 2
    return image


def spirals() -> Image:
    """Earth with snail shells in it."""
    image = stones("meadow", 5, stretch=1.0, colours=(3, 3, 3, 3))
    for x, y, size in ((8, 8, 7), (24, 24, 7), (24, 7, 4), (8, 25, 4)):
        ellipse(image, (x, y), (size + 0.6, size + 0.6), 4)
        radius, middle, upper = float(size), float(x), True
        while radius > 1:
            whole = blank(PERIOD, PERIOD)
            ring = ellipse_mask(whole, (middle, y), (radius, radius))
            ring &= ~ellipse_mask(whole, (middle, y), (radius - 1.3, radius - 1.3))
            half = np.arange(PERIOD)[:, None] < y
            image[ring & (half if upper else ~half)] = 2
            middle += 0.9 if upper else -0.9
            radius, upper = radius - 1.5, not upper
        image[y - size + 2, x - 2 : x + 1] = 5
    for x, y in ((16, 2), (1, 16), (15, 15), (17, 30), (31, 17), (16, 19)):
        image[y, x] = image[(y + 1) % PERIOD, x] = 5
    return image


def gears() -> Image:
    """Brass plates with wheels behind a window."""
    image = blank(PERIOD, PERIOD, 4)
    image[0] = image[:, 0] = 5
    image[31] = image[:, 31] = 2
    for x, y in ((3, 3), (27, 3), (3, 27), (27, 27)):
        image[y : y + 2, x : x + 2] = 2
        image[y, x] = 5
    ellipse(image, (16, 16), (12.5, 12.5), 2)
    wheel(image, (16, 16), 10.0, colours=(3, 4, 5))
    return image


def wheel(image: Image, centre: Point, radius: float, *, colours: Sequence[int]) -> None:
    """A toothed wheel in place: colours of teeth, rim, hub."""
    x, y = centre
    for dx, dy in AROUND:
        start, end = (x - dx * radius, y - dy * radius), (x + dx * radius, y + dy * radius)
        line(image, start, end, colours[0], width=radius * 0.34)
    ellipse(image, centre, (radius * 0.82, radius * 0.82), colours[1])
    ellipse(image, centre, (radius * 0.52, radius * 0.52), colours[0])
    ellipse(image, centre, (radius * 0.3, radius * 0.3), colours[2])
    ellipse(image, centre, (radius * 0.12, radius * 0.12), colours[0])


def roots() -> Image:
    """Soft soil with roots, pebbles and a few leaves."""
    image = blank(PERIOD, PERIOD, 3)
    for y in range(PERIOD):
        for x in range(PERIOD):
            if (x * 5 + y * 11 + (x * y) % 7) % 13 == 0:
                image[y, x] = 4
    for path in (((2, 0), (6, 9), (3, 18), (9, 31)), ((20, 0), (17, 8), (23, 17), (20, 31))):
        for start, end in pairwise(path):
            line(image, start, end, 2, width=2.4)
            line(image, (start[0] - 1, start[1]), (end[0] - 1, end[1]), 4, width=0.9)
    for x, y, r in ((12, 6, 3.2), (28, 12, 2.6), (12, 24, 2.4), (27, 26, 3.4)):
        ellipse(image, (x, y + 1), (r * 1.3, r), 2)
        ellipse(image, (x, y), (r * 1.2, r * 0.9), 4)
        ellipse(image, (x - 0.8, y - 0.6), (r * 0.6, r * 0.4), 5)
    return image


def marble() -> Image:
    """Large blocks of marble with veins."""
    image = courses((16, 16), 32, joint=2, seed="marble")
    image[image == 3] = 4
    veins = (((4, 3), (12, 7), (16, 13)), ((20, 4), (27, 9)), ((2, 20), (9, 25), (10, 29)))
    for path in (*veins, ((22, 19), (26, 24), (30, 27))):
        for start, end in pairwise(path):
            line(image, start, end, 3, width=1.1)
    return image


def timber() -> Image:
    """Planks, beam beside beam, with nails and grain."""
    image = blank(PERIOD, PERIOD, 4)
    for i, y in enumerate(range(0, PERIOD, 8)):
        end = (9, 25, 17, 3)[i]
        image[y] = 5
        image[y + 1 : y + 7] = 4 if i % 2 else 3
        image[y + 7] = 2
        image[y : y + 8, end] = 2
        image[y + 3, end + 4 : end + 6] = image[y + 3, end - 3 : end - 1] = 2
        grain = [(end + dx) % PERIOD for dx in range(9, 21)]
        image[y + 2 + i % 3, grain] = 3 if i % 2 else 2
        image[y + 5, [(x + 5) % PERIOD for x in grain[:7]]] = 3 if i % 2 else 4
    return image


def sandstone() -> Image:
    """Worn courses of sandstone with a carved band."""
    image = courses((8, 8, 16), 16, joint=3, seed="sandstone")
    image[16:32] = 4
    image[16] = image[30] = 5
    image[17] = image[31] = 2
    for x in range(0, PERIOD, 8):
        polygon(image, [(x + 4, 19), (x + 8, 28), (x, 28)], 3)
        polygon(image, [(x + 4, 22), (x + 6, 27), (x + 2, 27)], 5)
    return image


def texture(name: str) -> Image:
    """The pattern [32, 32] of a zone's ground."""
    made: dict[str, Callable[[], Image]] = {
        "soil": lambda: stones("soil", 9, stretch=1.25, colours=(2, 3, 4, 4)),
        "rock": lambda: stones("rock3", 8, stretch=1.15, colours=(2, 3, 4, 5)),
        "ice": lambda: stones("ice", 8, stretch=0.8, colours=(2, 3, 4, 5)),
        "slate": lambda: stones("slate", 13, stretch=2.3, colours=(2, 3, 4, 5)),
        "bricks": lambda: courses((8,) * 4, 16, joint=2, seed="bricks"),
        "strata": strata,
        "plates": plates,
        "spirals": spirals,
        "gears": gears,
        "roots": roots,
        "marble": marble,
        "facets": facets,
        "sandstone": sandstone,
        "timber": timber,
    }
    return made[name]()
