"""Things that stand on the ground and stop nobody. Colours as in art/ground.py."""

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


def barrel(size: int, *, wood: tuple[int, int] = (10, 11), hoop: int = 7) -> Image:
    """A barrel."""
    image = blank(size, size)
    width, top = size * 0.36, size * 0.16
    for y in range(int(top), size):
        bulge = 1.0 - ((y - (size + top) / 2) / size) ** 2
        half = round(width * bulge)
        image[y, size // 2 - half : size // 2 + half] = wood[0]
        image[y, size // 2 - half + 1 : size // 2 - half // 3] = wood[1]
    for at in (int(top + size * 0.16), int(size - size * 0.2)):
        row = image[at : at + max(1, size // 14)]
        row[row > 0] = hoop
    outline(image, 1)
    return image


def urn(size: int) -> Image:
    """A clay pot."""
    image = blank(size, size)
    ball(image, (size / 2, size * 0.66), (size * 0.32, size * 0.33), (10, 11))
    top = int(size * 0.24)
    image[top : top + size // 8, int(size * 0.32) : int(size * 0.68)] = 11
    image[top + size // 8 : int(size * 0.42), int(size * 0.4) : int(size * 0.6)] = 10
    band = image[int(size * 0.6) : int(size * 0.6) + max(1, size // 10)]
    band[band > 0] = 7
    outline(image, 1)
    return image


def pipe(width: int) -> Image:
    """A pipe that comes out of the ground and goes back into it."""
    image = blank(width, CELL)
    image[4:9, 4 : width - 4] = 11
    image[8, 4 : width - 4] = image[9, 4 : width - 4] = 10
    for x in (3, width - 9):
        image[5:16, x : x + 6] = 11
        image[9:16, x + 4 : x + 6] = 10
        image[12:14, x - 1 : x + 7] = 7
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


def column() -> Image:
    """A broken column, three cells wide and four high."""
    image = blank(48, 64)
    polygon(image, [(14, 64), (16, 20), (22, 15), (27, 19), (32, 16), (34, 64)], 4)
    for x in (19, 24, 29):
        image[24:58, x : x + 2] = 3
        image[22:58, x - 1] = 5
    image[57:60, 11:37] = image[60:64, 9:39] = 4
    image[57, 11:37] = image[60, 9:39] = 5
    line(image, (16, 34), (21, 24), 7, width=3)
    ball(image, (17, 36), (4, 5), (7, 8))
    ball(image, (32, 52), (5, 4), (7, 8))
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


def furnace() -> Image:
    """A chimney with a glowing mouth, three cells wide and four high."""
    image = blank(48, 64)
    polygon(image, [(8, 64), (10, 34), (17, 28), (18, 4), (30, 4), (31, 28), (38, 34), (40, 64)], 3)
    polygon(image, [(8, 64), (10, 34), (17, 28), (18, 4), (21, 4), (20, 30), (14, 36), (12, 64)], 4)
    image[3:7, 16:33] = 2
    image[3, 16:33] = 4
    ellipse(image, (24, 52), (9, 9), 1)
    ellipse(image, (24, 52), (7.4, 7.4), 14)
    ellipse(image, (24, 55), (5, 4), 15)
    image[61:64, 8:41] = 2
    for x in (18, 23, 28):
        image[44:61, x] = 1
    outline(image, 1)
    return image


def cart() -> Image:
    """A mine cart full of crystals, two cells a side."""
    image = blank(32, 32)
    image[:20] = crystals(32, 20, ((0.35, 0.25, 0.7), (0.62, 0.7, 0.8), (0.5, 0.48, 0.95)))
    polygon(image, [(3, 14), (29, 14), (25, 27), (7, 27)], 10)
    image[14:17, 3:29] = 11
    image[17:26, 12:14] = image[17:26, 19:21] = 11
    for x in (10, 22):
        ellipse(image, (x, 28), (3.6, 3.6), 1)
        ellipse(image, (x, 28), (2.4, 2.4), 11)
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
