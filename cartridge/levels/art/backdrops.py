"""The backgrounds of the light zones. Colours as in art/scenery.py."""

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, line, polygon
from cartridge.levels.art.scenery import (
    HEIGHT,
    WIDTH,
    clouds,
    forest,
    peaks,
    ridge,
    sky,
    sparkle,
    towers,
)

CLOUDS = ((60, 40, 20), (190, 62, 14), (316, 40, 20), (446, 62, 14))
"""Clouds that repeat after 256 pixels."""


def wood() -> Image:
    """Hills and trees under a pale sky."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 128, (1, 2, 3, 4))
    clouds(image, CLOUDS, (14, 15))
    ridge(image, base=118, size=16, period=256, colours=(5, 7))
    ridge(image, base=146, size=12, period=128, colours=(6, 8))
    forest(image, base=176, period=128, colours=(9, 10), seed="far")
    forest(image, base=212, period=128, colours=(11, 12), seed="near")
    return image


def snow() -> Image:
    """Snowy peaks and pines."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 130, (1, 2, 3, 4, 5))
    clouds(image, ((100, 30, 15), (356, 30, 15)), (14, 15))
    peaks(image, base=168, size=104, period=128, colours=(9, 10, 15))
    ridge(image, base=176, size=9, period=128, colours=(5, 15))
    for i in range(WIDTH // 32 + 1):
        x, size = i * 32 + 8, 30 if i % 2 else 22
        for part in range(3):
            top, half = 208 - size + part * size * 0.28, (0.2 + 0.13 * part) * size
            polygon(image, [(x, top), (x + half, top + 13), (x - half, top + 13)], 7)
            polygon(image, [(x, top), (x + half / 4, top + 13), (x - half, top + 13)], 8)
    ridge(image, base=208, size=6, period=128, colours=(14, 15))
    return image


def grotto() -> Image:
    """The sea with stacks of rock and a sail."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 120, (1, 2, 3, 4))
    clouds(image, CLOUDS, (14, 15))
    for start in range(-256, WIDTH, 256):
        for x, top, half in ((36, 66, 26), (92, 92, 16), (196, 78, 32)):
            x += start
            rock = [(x - half, 132), (x - half + 5, top + 9), (x - half + 13, top)]
            rock += [(x + half - 11, top + 3), (x + half - 4, top + 16), (x + half, 132)]
            polygon(image, rock, 5)
            polygon(image, [*rock[:3], (x - half + 18, top + 1), (x - half + 10, 132)], 6)
        ellipse(image[:132], (start + 196, 132), (14, 30), 4)
        polygon(image, [(start + 140, 96), (start + 140, 126), (start + 158, 126)], 15)
        polygon(image, [(start + 138, 104), (start + 138, 126), (start + 126, 126)], 13)
        polygon(image, [(start + 122, 127), (start + 162, 127), (start + 154, 134)], 12)
    image[132:] = 8
    image[132:134] = 4
    image[156:] = 7
    sparkle(image, (138, 172), 15, step=64)
    sparkle(image, (141, 180), 4, step=64)
    ridge(image, base=190, size=6, period=128, colours=(8, 15))
    ridge(image, base=206, size=8, period=64, colours=(7, 4))
    return image


def cliffs() -> Image:
    """Table mountains and windmills in a high sky."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 132, (1, 2, 3, 4))
    clouds(image, ((50, 30, 18), (170, 52, 12), (306, 30, 18), (426, 52, 12)), (14, 15))
    for start in range(-256, WIDTH, 256):
        for x, top, half, dark, light in ((60, 82, 44, 5, 6), (180, 100, 62, 5, 6)):
            x += start
            mesa = [(x - half, 180), (x - half + 14, top + 12), (x - half + 18, top)]
            mesa += [(x + half - 18, top), (x + half - 13, top + 14), (x + half, 180)]
            polygon(image, mesa, dark)
            polygon(image, [*mesa[:3], (x - half + 30, top), (x - half + 22, 180)], light)
            for y in (top + 14, top + 30):
                row = image[y : y + 2, max(0, x - half) : max(0, x + half)]
                row[row == light] = dark
    ridge(image, base=164, size=14, period=256, colours=(7, 8))
    for start in range(0, WIDTH, 128):
        _windmill(image, start + 40, 152)
    ridge(image, base=202, size=10, period=128, colours=(9, 10))
    return image


def _windmill(image: Image, x: int, top: int) -> None:
    polygon(image, [(x - 9, top + 52), (x - 5, top), (x + 5, top), (x + 9, top + 52)], 12)
    polygon(image, [(x + 1, top + 52), (x + 1, top), (x + 5, top), (x + 9, top + 52)], 11)
    polygon(image, [(x - 7, top), (x, top - 9), (x + 7, top)], 13)
    for dx, dy in ((19, 11), (-11, 19), (-19, -11), (11, -19)):
        line(image, (x, top - 1), (x + dx, top - 1 + dy), 11, width=1.6)
        side = (dx / 4 - dy / 4, dy / 4 + dx / 4)
        sail = [(x + dx / 4, top - 1 + dy / 4), (x + dx, top - 1 + dy)]
        sail += [(x + dx + side[0], top - 1 + dy + side[1])]
        sail += [(x + dx / 4 + side[0], top - 1 + dy / 4 + side[1])]
        polygon(image, sail, 15)
        line(image, sail[2], sail[3], 11, width=1)


def meadow() -> Image:
    """Round hills with stripes, giant flowers, balloons."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 136, (1, 2, 3, 4))
    clouds(image, ((90, 34, 16), (346, 34, 16)), (14, 15))
    for start in range(0, WIDTH, 256):
        x = start + 200
        polygon(image, [(x - 15, 54), (x + 15, 54), (x + 4, 74), (x - 4, 74)], 13)
        ball(image, (x, 46), (17, 18), (11, 12))
        ellipse(image, (x - 1, 46), (6, 17.5), 13)
        image[78:84, x - 4 : x + 4] = 11
        image[74:78, x - 4] = image[74:78, x + 3] = 11
    ridge(image, base=138, size=20, period=256, colours=(5, 6))
    for start in range(-128, WIDTH, 128):
        for x, y, r in ((30, 196, 44), (94, 204, 36)):
            ellipse(image, (start + x, y), (r, r), 8)
            for part, colour in ((0.94, 7), (0.74, 8), (0.6, 7), (0.4, 8)):
                ellipse(image, (start + x, y), (r * part, r * part), colour)
        for x, y in ((66, 134), (122, 150)):
            image[y:210, start + x : start + x + 3] = 9
            for dx, dy in ((8, 0), (0, 8), (-8, 0), (0, -8)):
                ellipse(image, (start + x + 1 + dx, y + dy), (6.4, 6.4), 12)
            ellipse(image, (start + x + 1, y), (5, 5), 13)
    ridge(image, base=206, size=6, period=128, colours=(9, 10))
    return image


def orchard() -> Image:
    """A low sun behind rows of fruit trees."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 128, (1, 2, 3, 4))
    for start in range(0, WIDTH, 256):
        ellipse(image, (start + 128, 84), (34, 34), 14)
        ellipse(image, (start + 128, 84), (28, 28), 15)
    clouds(image, ((40, 40, 14), (220, 58, 12), (296, 40, 14), (476, 58, 12)), (14, 15))
    ridge(image, base=122, size=12, period=256, colours=(5, 6))
    ridge(image, base=150, size=12, period=128, colours=(7, 8))
    for start in range(0, WIDTH, 64):
        for x, y, r, dark, light in ((18, 146, 11, 9, 8), (50, 152, 13, 9, 8)):
            image[y : y + 26, start + x - 2 : start + x + 2] = 11
            ball(image, (start + x, y - 4), (r, r), (dark, light))
    ridge(image, base=172, size=5, period=128, colours=(8, 6))
    for start in range(0, WIDTH, 64):
        x = start + 32
        image[184:210, x - 3 : x + 3] = 11
        ball(image, (x, 180), (21, 18), (9, 10))
        for dx, dy in ((-10, 2), (4, -8), (9, 7), (-3, 8)):
            ellipse(image, (x + dx, 180 + dy), (2.4, 2.4), 13)
    ridge(image, base=206, size=4, period=128, colours=(9, 10))
    return image


def keep() -> Image:
    """A castle on a hill at dusk."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 132, (1, 2, 3, 4))
    clouds(image, ((40, 66, 16), (180, 30, 14), (296, 66, 16), (436, 30, 14)), (14, 15))
    peaks(image, base=176, size=66, period=128, colours=(5, 6, 6))
    spots = ((30, 92, 26, 190), (70, 64, 30, 190), (112, 84, 22, 190), (20, 126, 130, 190))
    towers(image, spots, (7, 8))
    for start in range(-256, WIDTH, 256):
        for x, top, half in ((43, 92, 17), (85, 64, 19), (123, 84, 15)):
            x += start
            polygon(image, [(x - half, top), (x, top - 34), (x + half, top)], 9)
            polygon(image, [(x - half, top), (x, top - 34), (x - half // 3, top)], 10)
            for dx in (-5, 4):
                if x + dx > 0:
                    image[top + 14 : top + 22, x + dx : x + dx + 3] = 13
        for x in range(start + 20, start + 150, 10):
            if x >= 0:
                image[121:127, x : x + 5] = 7
        polygon(image, [(start + 79, 160), (start + 85, 150), (start + 91, 160)], 9)
        if start >= 0:
            image[160:190, start + 79 : start + 91] = 9
    ridge(image, base=178, size=8, period=256, colours=(11, 12))
    forest(image, base=214, period=128, colours=(9, 10), seed="keep")
    return image


def dunes() -> Image:
    """Pyramids and dunes in the heat."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 136, (1, 2, 3, 4))
    for start in range(0, WIDTH, 256):
        ellipse(image, (start + 200, 46), (20, 20), 14)
        ellipse(image, (start + 200, 46), (15, 15), 15)
        for x, top, half in ((60, 84, 70), (140, 112, 40)):
            x += start
            polygon(image, [(x - half, 160), (x, top), (x + half, 160)], 11)
            polygon(image, [(x - half, 160), (x, top), (x + half // 4, 160)], 12)
    ridge(image, base=146, size=9, period=256, colours=(5, 6))
    ridge(image, base=168, size=14, period=256, colours=(7, 8))
    ridge(image, base=202, size=12, period=128, colours=(9, 10))
    for y in range(176, HEIGHT, 12):
        for x in range((y * 7) % 64, WIDTH, 64):
            image[y, x : x + 14] = image[y + 1, (x + 6) % 500 : (x + 6) % 500 + 12] = 10
    return image


def isles() -> Image:
    """Floating islands over a sea of clouds."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 150, (1, 2, 3, 4))
    for i in range(12):
        x, y = (i * 83) % 128, (i * 29) % 76 + 4
        image[y, x::128] = 15
    for start in range(-256, WIDTH, 256):
        for x, y, half in ((50, 86, 34), (150, 60, 22), (212, 112, 26)):
            x += start
            polygon(image, [(x - half, y), (x + half, y), (x + 6, y + half), (x - 3, y + half)], 7)
            polygon(image, [(x - half, y), (x - 4, y), (x - 3, y + half)], 8)
            ellipse(image[: y + 3], (x, y + 3), (half, 6), 11)
            ellipse(image[: y + 1], (x - 2, y + 1), (half * 0.8, 4), 12)
            ball(image, (x + half // 3, y - 8), (7, 7), (11, 12))
    for base, shift, colours in ((172, 0, (5, 6)), (204, 22, (9, 10))):
        for light in (1, 0):
            for i, x in enumerate(range(-64, WIDTH + 64, 16)):
                r = (19, 11, 24, 13, 17, 26, 12, 15)[i % 8]
                ellipse(image, (x + shift, base + 14 - 2 * light), (r, r * 0.8), colours[light])
        image[base + 14 :] = colours[0]
    return image
