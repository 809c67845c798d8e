"""Ornaments that stand on the ground and stop nobody. Colours as in art/ground.py.

Each zone has six, of the sizes in paint.DECOR_SIZES: three small ones, a wide one, a square one
and a tall one."""

from random import Random

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, line, outline, polygon
from cartridge.levels.cells import CELL


def tuft(seed: str, *, blades: int, height: int) -> Image:
    """A tuft of grass."""
    image, rng = blank(CELL, CELL), Random(seed)
    for i in range(blades):
        x = 2 + 12 * i / max(1, blades - 1)
        tip = (x + rng.randint(-3, 3), 16 - rng.randint(height // 2, height))
        line(image, (x, 16), tip, (7, 8, 9)[i % 3], width=1.6)
    return image


def flower(petal: int, heart: int) -> Image:
    """A flower on its stalk."""
    image = blank(CELL, CELL)
    line(image, (8, 16), (8, 7), 6, width=1.4)
    ellipse(image, (10.5, 12.5), (2.4, 1.2), 7)
    for x, y in ((5.5, 5.5), (10.5, 5.5), (8, 3), (8, 8)):
        ellipse(image, (x, y), (2.1, 2.1), petal)
    ellipse(image, (8, 5.5), (1.6, 1.6), heart)
    outline(image, 1)
    return image


def pebbles() -> Image:
    """A few stones."""
    image = blank(CELL, CELL)
    ball(image, (5, 13.5), (4, 3), (3, 4, 5))
    ball(image, (12, 14.2), (3, 2.2), (3, 4, 5))
    outline(image, 1)
    return image


def mushrooms(width: int, height: int, spots: tuple[tuple[float, float], ...]) -> Image:
    """Glowing mushrooms at (middle, top), as shares of the size."""
    image = blank(width, height)
    for middle, top in spots:
        x, y = middle * width, top * height
        cap = min(width * 0.3, (height - y) * 0.62)
        line(image, (x, height), (x, y + cap * 0.7), 13, width=cap * 0.55)
        hat = image[: round(y + cap * 0.95)]
        ball(hat, (x, y + cap * 0.9), (cap, cap * 0.9), (14, 15))
        ellipse(image, (x - cap * 0.3, y + cap * 0.45), (cap * 0.2, cap * 0.16), 12)
    outline(image, 1)
    return image


def bush(width: int, height: int, colours: tuple[int, ...], berry: int) -> Image:
    """A round bush with berries."""
    image, rng = blank(width, height), Random(f"bush{width}{height}")
    for part, size in ((0.27, 0.6), (0.73, 0.66), (0.5, 0.84)):
        radius = min(height, width * 0.62) * size / 2
        middle = (width * part, height - radius * 0.72)
        ball(image, middle, (min(radius * 1.25, width * 0.25), radius), colours)
    image[height - 1] = image[height - 2]
    for _ in range(width // 5):
        x, y = rng.randint(4, width - 6), rng.randint(height // 3, height - 4)
        if image[y, x] and image[y + 1, x + 1]:
            image[y : y + 2, x : x + 2] = berry
    outline(image, 1)
    return image


def tree(crown: tuple[int, ...]) -> Image:
    """A leafy tree, three cells wide and four high."""
    image = blank(48, 64)
    polygon(image, [(20, 64), (22, 34), (27, 34), (30, 64)], 10)
    polygon(image, [(22, 64), (23, 34), (25, 34), (25, 64)], 11)
    for x, y, r in ((12, 26, 11), (36, 26, 11), (24, 15, 14), (18, 30, 10), (31, 31, 10)):
        ball(image, (x, y), (r, r * 0.88), crown)
    outline(image, 1)
    return image


def girder() -> Image:
    """A rusty post with a lamp."""
    image = blank(48, 64)
    polygon(image, [(21, 64), (22, 12), (26, 12), (27, 64)], 10)
    polygon(image, [(22, 64), (23, 12), (24, 12), (24, 64)], 11)
    for y in range(18, 62, 9):
        line(image, (21, y), (27, y + 6), 1, width=1.2)
    line(image, (24, 13), (38, 9), 10, width=3)
    ball(image, (38, 14), (5, 5), (13, 12))
    outline(image, 1)
    return image


def pine() -> Image:
    """A snowy pine."""
    image = blank(48, 64)
    polygon(image, [(21, 64), (21, 50), (27, 50), (27, 64)], 10)
    for top, bottom, half in ((22, 54, 21), (12, 40, 16), (2, 25, 11)):
        polygon(image, [(24, top), (24 + half, bottom), (24 - half, bottom)], 2)
        polygon(image, [(24, top), (24, bottom), (24 - half, bottom)], 3)
        polygon(image, [(24, top), (24 + half * 0.6, top + 13), (24 - half * 0.7, top + 13)], 9)
        polygon(image, [(24, top), (24 + half * 0.6, top + 13), (24, top + 10)], 7)
    outline(image, 1)
    return image


def drift(width: int) -> Image:
    """A heap of snow."""
    image = blank(width, CELL)
    ball(image, (width / 2, 17), (width / 2 - 1, 8), (7, 8, 9))
    outline(image, 6)
    return image


def ornaments(name: str) -> list[Image]:
    """The six ornaments of a zone's scenery, in the order of paint.DECOR_SIZES."""
    leaves = (6, 7, 8)
    made = {
        "wood": lambda: [
            tuft("a", blades=7, height=9),
            flower(14, 15),
            flower(12, 15),
            bush(32, 16, leaves, 14),
            bush(32, 32, leaves, 14),
            tree(leaves),
        ],
        "cavern": lambda: [
            pebbles(),
            mushrooms(16, 16, ((0.5, 0.3),)),
            tuft("b", blades=4, height=6),
            mushrooms(32, 16, ((0.26, 0.35), (0.7, 0.15))),
            mushrooms(32, 32, ((0.24, 0.5), (0.64, 0.12))),
            girder(),
        ],
        "snow": lambda: [
            drift(16),
            tuft("c", blades=5, height=8),
            pebbles(),
            drift(32),
            bush(32, 32, (6, 8, 9), 14),
            pine(),
        ],
    }
    return made[name]()
