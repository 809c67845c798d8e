"""The backgrounds of the dark zones: caves, machines, storm. Colours as in art/scenery.py."""

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, line, paste, polygon
from cartridge.levels.art.patterns import wheel
from cartridge.levels.art.scenery import HEIGHT, WIDTH, clouds, ridge, sky, sparkle, towers
from cartridge.levels.art.things import crystals


def cavern() -> Image:
    """Arches of rock, rusty pipes and a glow from below."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 240, (1, 2, 3, 4))
    for i in range(WIDTH // 128 + 1):
        x = i * 128
        for dx, y, half in ((20, 60, 10), (64, 96, 16), (100, 48, 8)):
            polygon(image, [(x + dx - half, 0), (x + dx, y), (x + dx + half, 0)], 5)
            polygon(image, [(x + dx - half, 0), (x + dx, y), (x + dx - half // 3, 0)], 6)
    image[:14] = 5
    image[14:16] = 6
    for i in range(WIDTH // 128):
        x = i * 128 + 40
        image[16:HEIGHT, x : x + 14] = 6
        image[16:HEIGHT, x + 3 : x + 6] = 7
        image[16:HEIGHT, x] = image[16:HEIGHT, x + 13] = 5
        for y in range(40, HEIGHT, 64):
            image[y : y + 8, x - 3 : x + 17] = 7
            image[y : y + 2, x - 3 : x + 17] = 8
            image[y + 7, x - 3 : x + 17] = 5
    ridge(image, base=176, size=20, period=128, colours=(9, 10))
    ridge(image, base=216, size=12, period=128, colours=(5, 6))
    return image


def foundry() -> Image:
    """Chimneys, halls with glowing windows, a river of molten iron."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 200, (1, 2, 3, 4))
    for x, y in ((40, 34), (58, 22), (80, 16), (168, 54), (186, 42), (208, 38)):
        for start in range(0, WIDTH, 256):
            ball(image, (start + x, y), (17, 11), (14, 15))
    towers(image, ((22, 44, 18, 220), (152, 64, 18, 220), (96, 96, 14, 220)), (5, 6))
    for start in range(-128, WIDTH, 128):
        for i in range(4):
            x = start + 32 * i
            polygon(image, [(x, 156), (x, 132), (x + 32, 156)], 7)
            line(image, (x, 132), (x + 32, 156), 8, width=1.6)
    image[156:] = 7
    for x in range(8, WIDTH, 32):
        image[166:184, x : x + 16] = 11
        image[168:176, x + 1 : x + 15] = 12
        image[166:184, x + 5] = image[166:184, x + 10] = 7
    ridge(image, base=200, size=3, period=64, colours=(11, 13))
    ridge(image, base=214, size=4, period=64, colours=(9, 11))
    return image


def clockwork() -> Image:
    """The inside of a huge clock."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 240, (1, 2, 3, 4))
    for start in range(-256, WIDTH + 256, 256):
        for x, y, radius, colours in (
            (64, 84, 60.0, (5, 6, 5)),
            (160, 148, 44.0, (7, 8, 7)),
            (226, 60, 34.0, (5, 6, 5)),
        ):
            wheel(image, (start + x, y), radius, colours=colours)
            ellipse(image, (start + x, y), (radius * 0.12, radius * 0.12), 13)
    for start in range(0, WIDTH, 256):
        x = start + 112
        line(image, (x, 0), (x, 150), 11, width=4)
        ball(image, (x, 162), (17, 17), (11, 12))
        ellipse(image, (x, 162), (8, 8), 13)
        ellipse(image, (x, 162), (5, 5), 12)
    for x in range(0, WIDTH, 128):
        image[:, x : x + 12] = 9
        image[:, x + 2 : x + 5] = 10
        for y in range(20, HEIGHT, 64):
            image[y : y + 8, x : x + 14] = 11
            image[y : y + 2, x : x + 14] = 12
    ridge(image, base=216, size=3, period=64, colours=(9, 10))
    return image


def mine() -> Image:
    """A cave of crystals, shored up with timber."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 240, (1, 2, 3, 4))
    ridge(image, base=120, size=18, period=128, colours=(7, 5))
    for start in range(-128, WIDTH, 128):
        for x, tip, half in ((26, 58, 15), (66, 92, 12), (104, 44, 18)):
            x += start
            polygon(image, [(x - half, 0), (x, tip), (x + half, 0)], 5)
            polygon(image, [(x - half, 0), (x, tip), (x - half // 3, 0)], 6)
    image[:10] = 5
    spots = ((0.3, 0.2, 0.55), (0.7, 0.82, 0.7), (0.5, 0.45, 0.95))
    cluster = crystals(64, 72, spots)
    for old, new in ((1, 7), (14, 11), (15, 12)):
        cluster[crystals(64, 72, spots) == old] = new
    for x in range(0, WIDTH, 128):
        paste(image, cluster, x + 36, 112)
        line(image, (x + 66, 130), (x + 66, 152), 13, width=2)
    ridge(image, base=190, size=14, period=128, colours=(5, 6))
    ridge(image, base=218, size=8, period=64, colours=(9, 10))
    return image


def harbor() -> Image:
    """A stormy sea with a lighthouse, masts and rain."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 148, (1, 2, 3, 4))
    for x, y, size in ((30, 26, 26), (110, 40, 22), (190, 22, 28), (240, 44, 18)):
        clouds(image, ((x, y, size), (x + 256, y, size)), (14, 15))
    for start in range(-256, WIDTH, 256):
        x = start + 150
        polygon(image, [(x, 75), (x - 128, 44), (x - 128, 80)], 4)
        polygon(image, [(x, 75), (x + 128, 44), (x + 128, 80)], 4)
        polygon(image, [(x - 10, 156), (x - 6, 82), (x + 6, 82), (x + 10, 156)], 6)
        polygon(image, [(x - 10, 156), (x - 6, 82), (x - 3, 82), (x - 5, 156)], 12)
        if x > 0:
            image[70:82, x - 5 : x + 5] = 13
            image[80:83, x - 9 : x + 9] = 11
            image[100:110, x - 8 : x + 8][image[100:110, x - 8 : x + 8] == 6] = 11
        polygon(image, [(x - 8, 70), (x, 61), (x + 8, 70)], 11)
        polygon(image, [(x - 40, 164), (x - 18, 150), (x + 20, 151), (x + 46, 164)], 5)
        hull = start + 50
        for mast, top in ((-18, 106), (6, 92)):
            line(image, (hull + mast, top), (hull + mast, 158), 11, width=2)
            line(image, (hull + mast - 12, top + 10), (hull + mast + 12, top + 10), 11, width=1.4)
        polygon(image, [(hull - 36, 148), (hull + 36, 144), (hull + 24, 164), (hull - 26, 164)], 11)
    image[160:] = 8
    sparkle(image, (164, 184), 12, step=64)
    ridge(image, base=184, size=7, period=64, colours=(7, 8))
    ridge(image, base=206, size=9, period=64, colours=(9, 7))
    return image
