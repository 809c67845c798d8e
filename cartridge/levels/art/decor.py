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


def crystal(width: int, height: int, *, dark: int, light: int) -> Image:
    """Crystals that grow from the ground."""
    image = blank(width, height)
    middle = width / 2
    for lean, size in ((-0.32, 0.55), (0.34, 0.65), (0.02, 0.95)):
        tip, half = (middle + lean * width * 1.2, height * (1 - size)), width * 0.14
        x = middle + lean * width * 0.6
        polygon(image, [(x - half, height), (tip[0], tip[1]), (x + half, height)], dark)
        polygon(image, [(x - half, height), (tip[0], tip[1]), (x, height)], light)
    outline(image, 1)
    return image


def bush(width: int, height: int, colours: tuple[int, ...], berry: int) -> Image:
    """A round bush with berries."""
    image, rng = blank(width, height), Random(f"bush{width}{height}")
    for part in (0.22, 0.78, 0.5):
        top = height * (0.42 if part == 0.5 else 0.58)
        ball(image, (width * part, height * 0.5 + top / 2), (width * 0.22, height - top), colours)
    for _ in range(width // 4):
        x, y = rng.randint(3, width - 4), rng.randint(height // 2, height - 3)
        if image[y, x]:
            image[y, x : x + 2] = berry
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
            crystal(16, 16, dark=14, light=15),
            tuft("b", blades=4, height=6),
            crystal(32, 16, dark=14, light=15),
            crystal(32, 32, dark=14, light=15),
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
