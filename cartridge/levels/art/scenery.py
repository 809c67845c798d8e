"""Backgrounds: one picture of 512x256 pixels a zone, which wraps around sideways.

Colours of palette line 3: 1-4 sky, top to horizon; the others belong to each picture. Far things
are pale and flat, so that the ground before them stands out, also in grey."""

from collections.abc import Callable
from random import Random

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, polygon, wave

WIDTH, HEIGHT = 512, 256


def sky(image: Image, horizon: int, colours: tuple[int, ...]) -> None:
    """Bands of colour with woven borders, in place."""
    band = horizon // len(colours)
    for y in range(HEIGHT):
        i = min(y // band, len(colours) - 1)
        image[y] = colours[i]
        left = (i + 1) * band - y
        if i + 1 < len(colours) and left <= 6:
            image[y, (y % 2) :: 2 if left <= 3 else 4] = colours[i + 1]


def ridge(image: Image, *, base: int, size: int, period: int, colours: tuple[int, int]) -> None:
    """A range of hills with a light rim, in place. period divides 512."""
    for x in range(WIDTH):
        t = x / period
        top = base - round(size * (0.6 * wave(t) + 0.4 * wave(2 * t + 0.3)))
        image[top:, x] = colours[0]
        image[top : top + 2, x] = colours[1]


def peaks(image: Image, *, base: int, size: int, period: int, colours: tuple[int, ...]) -> None:
    """Pointed mountains: dark side, light side, snow, in place."""
    for i in range(WIDTH // period + 2):
        for shift, part in ((0.0, 1.0), (0.45, 0.7)):
            x, top = (i - 1 + shift) * period, base - size * part
            half = size * part * 0.85
            polygon(image, [(x, top), (x + half, base), (x - half, base)], colours[0])
            polygon(image, [(x, top), (x + 0.2 * half, base), (x - half, base)], colours[1])
            cap = 0.3 * half
            polygon(image, [(x, top), (x + cap, top + 0.3 * size * part), (x, top + 8)], colours[2])
            polygon(
                image, [(x, top), (x, top + 10), (x - cap, top + 0.3 * size * part)], colours[2]
            )
    image[base:] = colours[0]


def clouds(image: Image, spots: tuple[tuple[int, int, int], ...], colours: tuple[int, int]) -> None:
    """Flat-bottomed clouds at (x, y, size), in place."""
    for x, y, size in spots:
        puffs = ((-1.1, 0.0, 0.6), (0.0, -0.35, 0.9), (1.0, -0.05, 0.65), (1.9, 0.12, 0.35))
        for colour, lift in ((colours[0], 2), (colours[1], 0)):
            for dx, dy, r in puffs:
                centre = (x + dx * size, y + dy * size + lift)
                part = image[: y + 3 + lift]
                ellipse(part, centre, (r * size, r * size * 0.75), colour)


def forest(image: Image, *, base: int, period: int, colours: tuple[int, ...], seed: str) -> None:
    """Round trees in a row, in place; repeats after period pixels."""
    rng = Random(seed)
    trees = [(x + rng.randint(-3, 3), rng.randint(12, 20)) for x in range(0, period, 18)]
    image[base:] = colours[0]
    for copy in range(-1, WIDTH // period + 1):
        for x, r in trees:
            ball(image, (x + copy * period, base - 4), (r * 0.8, r), colours)


def wood() -> Image:
    """Hills and trees under a pale sky."""
    image = blank(WIDTH, HEIGHT)
    sky(image, 128, (1, 2, 3, 4))
    clouds(image, ((60, 40, 20), (190, 62, 14), (316, 40, 20), (446, 62, 14)), (14, 15))
    ridge(image, base=118, size=16, period=256, colours=(5, 7))
    ridge(image, base=146, size=12, period=128, colours=(6, 8))
    forest(image, base=176, period=128, colours=(9, 10), seed="far")
    forest(image, base=212, period=128, colours=(11, 12), seed="near")
    return image


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


def scenery(name: str) -> Image:
    """The background [256, 512] of a zone, by the name of its scenery."""
    made: dict[str, Callable[[], Image]] = {"wood": wood, "cavern": cavern, "snow": snow}
    return made[name]()
