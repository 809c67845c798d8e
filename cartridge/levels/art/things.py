"""Things on the ground that are no obstacles. Colours as in art/ground.py."""

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, line, outline, polygon
from cartridge.levels.art.patterns import wheel
from cartridge.levels.cells import CELL


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


def crystals(width: int, height: int, spots: tuple[tuple[float, float, float], ...]) -> Image:
    """Crystals at (foot, tip, height), as shares of the size."""
    image = blank(width, height)
    for foot, tip, tall in spots:
        middle, head, half = foot * width, tip * width, 1.4 + tall * height * 0.14
        top = height * (1 - tall)
        neck = top + half * 1.5
        for part, colour in ((half, 1), (half - 1, 14)):
            left, right = (head - part, neck), (head + part, neck)
            point = (head, top + 1.6 * (half - part))
            polygon(
                image,
                [point, right, (middle + part, height), (middle - part, height), left],
                colour,
            )
        polygon(
            image, [point, (head, neck), (middle, height), (middle - half + 1, height), left], 15
        )
    return image


def cog(size: int) -> Image:
    """A wheel that leans on the ground."""
    image = blank(size, size)
    wheel(image, (size / 2, size / 2), size / 2 - 0.6, colours=(10, 11, 7))
    outline(image, 1)
    return image


def lantern() -> Image:
    """A lamp post, three cells wide and four high."""
    image = blank(48, 64)
    line(image, (24, 64), (24, 20), 10, width=4)
    line(image, (23, 64), (23, 20), 11, width=1.4)
    polygon(image, [(17, 64), (20, 57), (28, 57), (31, 64)], 10)
    line(image, (18, 22), (30, 22), 10, width=2.4)
    ball(image, (24, 13), (6.4, 7.4), (8, 9))
    polygon(image, [(15, 8), (24, 1), (33, 8)], 10)
    line(image, (24, 6), (24, 20), 10, width=1)
    outline(image, 1)
    return image


def pennant() -> Image:
    """A small flag on a thin pole, two cells a side."""
    image = blank(32, 32)
    line(image, (10, 32), (10, 5), 10, width=2)
    polygon(image, [(11, 5), (27, 10), (11, 15)], 14)
    line(image, (11, 7), (20, 10), 15, width=1.4)
    outline(image, 1)
    return image


def flare() -> Image:
    """A thin chimney with a flame, three cells wide and four high."""
    image = blank(48, 64)
    line(image, (24, 64), (24, 24), 10, width=5)
    line(image, (23, 64), (23, 24), 11, width=1.6)
    image[24:27, 19:30] = 11
    polygon(image, [(18, 24), (22, 12), (21, 4), (27, 11), (29, 8), (31, 24)], 14)
    polygon(image, [(21, 24), (24, 14), (28, 24)], 15)
    outline(image, 1)
    return image


def banner() -> Image:
    """A flag on a pole, three cells wide and four high."""
    image = blank(48, 64)
    line(image, (14, 64), (14, 4), 10, width=3)
    ellipse(image, (14, 4), (2.6, 2.6), 15)
    polygon(image, [(15, 8), (42, 8), (42, 40), (28, 33), (15, 40)], 14)
    polygon(image, [(15, 8), (42, 8), (42, 11), (15, 11)], 15)
    polygon(image, [(28, 14), (35, 22), (28, 30), (21, 22)], 15)
    polygon(image, [(28, 17), (32, 22), (28, 27), (24, 22)], 14)
    outline(image, 1)
    return image


def clock() -> Image:
    """A clock on a post, three cells wide and four high."""
    image = blank(48, 64)
    line(image, (24, 64), (24, 32), 10, width=5)
    line(image, (23, 64), (23, 32), 11, width=2)
    polygon(image, [(15, 64), (20, 57), (28, 57), (33, 64)], 10)
    ellipse(image, (24, 19), (15, 15), 10)
    ellipse(image, (24, 19), (13.4, 13.4), 11)
    ellipse(image, (24, 19), (11.4, 11.4), 8)
    for x, y in ((24, 10), (33, 19), (24, 28), (15, 19)):
        image[y - 1 : y + 1, x - 1 : x + 1] = 6
    line(image, (24, 19), (24, 12), 1, width=1.8)
    line(image, (24, 19), (29, 22), 1, width=1.8)
    outline(image, 1)
    return image


def fence(width: int) -> Image:
    """A low fence."""
    image = blank(width, CELL)
    for x in range(3, width - 3, 9):
        image[4:16, x : x + 3] = 11
        image[5:16, x + 2] = 10
    image[7:9] = image[11:13] = 11
    image[8] = image[12] = 10
    outline(image, 1)
    return image


def rope() -> Image:
    """A coil of rope."""
    image = blank(CELL, CELL)
    for y in (14, 11, 8):
        ellipse(image, (8, y), (6.4, 2.6), 11)
        ellipse(image, (8, y - 0.6), (4.4, 1.2), 10)
    outline(image, 1)
    return image


def bollard() -> Image:
    """An iron post for ropes."""
    image = blank(CELL, CELL)
    polygon(image, [(5, 16), (6, 7), (10, 7), (11, 16)], 7)
    line(image, (7, 15), (7, 7), 8, width=1.2)
    ball(image, (8, 6), (4.6, 3), (6, 7, 8))
    outline(image, 1)
    return image


def torch() -> Image:
    """A burning torch in a stand."""
    image = blank(CELL, CELL)
    line(image, (8, 16), (8, 8), 10, width=2.4)
    image[8:10, 5:11] = 11
    polygon(image, [(5, 8), (8, 1), (11, 8)], 14)
    polygon(image, [(6.5, 8), (8, 4), (9.5, 8)], 15)
    outline(image, 1)
    return image


def shell() -> Image:
    """A shell in the sand."""
    image = blank(CELL, CELL)
    ball(image, (8, 14), (5.6, 6), (8, 9))
    for dx in (-4, -2, 0, 2, 4):
        line(image, (8, 15), (8 + dx, 9), 7, width=0.8)
    outline(image, 1)
    return image


def starfish() -> Image:
    """A star that clings to a stone."""
    image = blank(CELL, CELL)
    for tip in ((8, 4), (2, 9), (14, 9), (4, 15.5), (12, 15.5)):
        line(image, (8, 11), tip, 10, width=3.4)
        line(image, (8, 10.5), (tip[0], tip[1] - 0.5), 11, width=1.6)
    outline(image, 1)
    return image
