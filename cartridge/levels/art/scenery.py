"""Parts of backgrounds: sky, clouds, hills, mountains, trees.

A background is one picture of 512x256 pixels, which wraps around sideways. Colours of palette
line 3: 1-4 sky, top to horizon; in art/backdrops.py 5, 6 far things and their rim, 7, 8 those in
the middle, 9, 10 near ones, b, c details, d accent, e, f clouds. Far things are pale and flat, so
that the ground before them stands out, even in grey."""

from random import Random

from cartridge.levels.art.canvas import Image, ball, ellipse, polygon, wave

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
            cap, brim = 0.3 * half, top + 0.3 * size * part
            polygon(image, [(x, top), (x + cap, brim), (x, top + 8)], colours[2])
            polygon(image, [(x, top), (x, top + 10), (x - cap, brim)], colours[2])
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


def towers(
    image: Image, spots: tuple[tuple[int, int, int, int], ...], colours: tuple[int, int]
) -> None:
    """Upright blocks at (x, top, width, bottom), lit at the left, again every 256 pixels."""
    for start in range(-256, WIDTH, 256):
        for x, top, width, bottom in spots:
            left, right = max(0, start + x), max(0, start + x + width)
            image[top:bottom, left:right] = colours[0]
            image[top:bottom, left : min(right, left + 2)] = colours[1]
            image[top : top + 2, left:right] = colours[1]


def sparkle(image: Image, rows: tuple[int, int], colour: int, *, step: int) -> None:
    """Short strokes of light on water, thinner towards the bottom."""
    for i, y in enumerate(range(*rows, 5)):
        for x in range((i * 37) % step, WIDTH, step):
            image[y, x : x + 9 - i % 4] = colour
