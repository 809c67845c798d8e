"""Plants and stones on the ground that are no obstacles. Colours as in art/ground.py."""

from itertools import pairwise
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


def weeds(height: int, *, colours: tuple[int, ...]) -> Image:
    """Waving weeds, one cell wide."""
    image = blank(CELL, CELL)
    for i, x in enumerate((3, 8, 12)):
        top = 16 - height + (i * 5) % 4
        for y in range(top, 16):
            bend = (0, 1, 1, 0, -1, -1)[(y + 2 * i) % 6]
            image[y, x + bend : x + bend + 2] = colours[i % len(colours)]
    outline(image, 1)
    return image


def cactus(width: int, height: int) -> Image:
    """A cactus with as many arms as fit."""
    image = blank(width, height)
    x, thick = width / 2, max(4.0, width / 6)
    arms = ((-0.32, 0.55, 0.3), (0.32, 0.68, 0.42)) if width > CELL else ((0.3, 0.75, 0.5),)
    for colour, shift, part in ((14, 0.0, 1.0), (15, -0.18, 0.45)):
        at = x + shift * thick
        line(image, (at, height), (at, thick / 2 + 1), colour, width=thick * part)
        for side, low, high in arms:
            end = at + side * width
            line(image, (at, low * height), (end, low * height), colour, width=thick * 0.8 * part)
            tip = (end, high * height)
            line(image, (end, low * height), tip, colour, width=thick * 0.8 * part)
    outline(image, 1)
    return image


def palm() -> Image:
    """A palm, three cells wide and four high."""
    image = blank(48, 64)
    path = ((20, 64), (21, 48), (23, 34), (27, 20))
    for start, end in pairwise(path):
        line(image, start, end, 10, width=5)
        line(image, (start[0] - 1, start[1]), (end[0] - 1, end[1]), 11, width=2)
    for y in range(26, 62, 6):
        x = 27 - (y - 20) * 7 // 44
        line(image, (x - 2, y), (x + 2, y + 1), 1, width=0.9)
    tips = ((4, 18), (8, 32), (46, 16), (44, 31), (16, 5), (38, 4))
    for i, tip in enumerate(tips):
        middle = ((27 + tip[0]) / 2, min(20, tip[1]) - 5)
        for begin, stop in pairwise(((27.0, 19.0), middle, tip)):
            line(image, begin, stop, 3 + i % 2, width=4.6 if begin[0] == 27 else 3.4)
            line(image, (begin[0], begin[1] - 1), (stop[0], stop[1] - 1), 5, width=1.1)
    ellipse(image, (25, 22), (2.4, 2.4), 10)
    ellipse(image, (30, 22), (2.4, 2.4), 10)
    outline(image, 1)
    return image


def bent_tree() -> Image:
    """A tree that the wind has bent to the right."""
    image = blank(48, 64)
    path = ((14, 64), (14, 50), (18, 38), (27, 28))
    for start, end in pairwise(path):
        line(image, start, end, 10, width=5.5)
        line(image, (start[0] - 1, start[1]), (end[0] - 1, end[1]), 11, width=2)
    line(image, (18, 38), (32, 36), 10, width=3)
    for x, y, width in ((26, 22, 15), (34, 29, 12), (36, 16, 10), (22, 14, 9), (38, 36, 8)):
        ball(image, (x, y), (width * 0.8, 6), (6, 7, 8))
    outline(image, 1)
    return image


def fruit_tree(fruit: int) -> Image:
    """A round tree full of fruit."""
    image = tree((6, 7, 8))
    for x, y in ((9, 26), (17, 18), (27, 12), (34, 22), (24, 28), (14, 34), (36, 33), (30, 35)):
        if image[y, x]:
            ellipse(image, (x, y), (2.8, 2.8), 1)
            ellipse(image, (x, y), (2.2, 2.2), fruit)
            image[y - 1, x - 1] = 12
    return image


def sunflower() -> Image:
    """A flower as tall as a tree."""
    image = blank(48, 64)
    line(image, (24, 64), (24, 24), 7, width=4)
    line(image, (23, 64), (23, 24), 8, width=1.5)
    for side, y in ((-1, 46), (1, 54)):
        ellipse(image, (24 + side * 9, y), (8, 3.4), 7)
        ellipse(image, (24 + side * 8, y - 1), (6, 1.6), 8)
    for dx, dy in ((13, 0), (9, 9), (0, 13), (-9, 9), (-13, 0), (-9, -9), (0, -13), (9, -9)):
        ball(image, (24 + dx, 18 + dy), (6, 6), (14, 15))
    ball(image, (24, 18), (9, 9), (10, 11))
    outline(image, 1)
    return image


def fruits(width: int, colour: int) -> Image:
    """Fallen fruit."""
    image = blank(width, CELL)
    for x in range(5, width - 3, 8):
        y = 12.5 - (x // 8 % 2)
        ellipse(image, (x, y), (3.2, 3.2), colour)
        image[int(y) - 2, x - 1] = 12
        image[int(y) - 4, x] = 7
    outline(image, 1)
    return image
