"""Enemies and objects. Colours of palette line 1:

1 outline; 2-4 shell, dark to light; 5, 6 gold; 7 dark gold; 8, 9, a white to grey; b dark;
c orange; d red; e, f blue, dark and light."""

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, line, outline, polygon
from cartridge.levels.colours import colours

COLOURS = colours("000 000 301 604 726 760 774 530 777 555 333 222 741 711 046 267")


def walker(step: int) -> Image:
    """A thorn beetle that walks."""
    image = blank(24, 24)
    for x in (5, 11, 17):
        shift = 2 if (x // 6 + step) % 2 else -1
        line(image, (x, 18), (x + shift, 23), 11, width=2.5)
    ellipse(image, (19, 16), (4.4, 4.4), 12)
    ellipse(image, (20.5, 15), (2.1, 2.4), 8)
    image[14:17, 21] = 1
    for x, y in ((3, 7), (8, 2), (14, 3)):
        polygon(image, [(x - 1, 12), (x - 1, y), (x + 4, 11)], 8)
    ball(image, (10.5, 14.5), (9.5, 7), (2, 3, 4))
    line(image, (2, 19), (17, 19), 5, width=2)
    outline(image, 1)
    return image


def hopper(leaping: bool) -> Image:
    """A toad on a coil of legs."""
    image = blank(24, 24)
    top = 5 if leaping else 9
    for side in (-1, 1):
        knee = (12 + side * 8, top + 9)
        foot = (12 + side * (5 if leaping else 8), 22.5)
        line(image, (12, top + 8), knee, 14, width=3.5)
        line(image, knee, foot, 14, width=3)
        line(image, foot, (foot[0] + 2, 22.5), 5, width=2)
    ball(image, (12, top + 6), (8.5, 6.5), (14, 15))
    ellipse(image, (13, top + 9), (6, 2.6), 8)
    for x in (8, 17):
        ellipse(image, (x, top), (2.8, 2.8), 8)
        image[top - 1 : top + 1, x : x + 2] = 1
    line(image, (8, top + 7), (18, top + 6), 1, width=1)
    outline(image, 1)
    return image


def spring(pressed: bool) -> Image:
    """A coil with a red pad: at rest low, afterwards stretched."""
    image = blank(24, 16)
    top = 1 if pressed else 6
    image[14:16, 3:21] = 9
    image[13, 3:21] = 8
    for y in range(top + 4, 13, 3):
        line(image, (6, y + 1.5), (18, y), 8, width=1.6)
    image[top : top + 4, 2:22] = 13
    image[top, 3:21] = 12
    image[top + 3, 2:22] = 2
    image[top + 1, 4:9] = 8
    outline(image, 1)
    return image


def ring(edge_on: bool) -> Image:
    """A golden ring."""
    image = blank(16, 16)
    width = 2.6 if edge_on else 6.4
    ellipse(image, (8, 8), (width, 6.6), 7)
    ellipse(image, (7.6, 7.6), (width - 0.6, 6), 5)
    ellipse(image, (7, 6.6), (width - 1.4, 4.6), 6)
    if not edge_on:
        ellipse(image, (8, 8), (3.6, 3.8), 0)
    outline(image, 1)
    if not edge_on:
        ellipse(image, (8, 8), (2.6, 2.8), 0)
    return image


def post(passed: bool) -> Image:
    """The end: a chequered flag, then a golden one."""
    image = blank(24, 32)
    line(image, (4, 3), (4, 32), 9, width=3)
    line(image, (3, 3), (3, 32), 8, width=1)
    ellipse(image, (4, 3), (2.4, 2.4), 5)
    for y in range(4, 20):
        for x in range(6, 23):
            sway = y + (x - 6) // 6 % 2
            dark = (x - 6) // 4 % 2 != (y - 4) // 4 % 2
            image[sway, x] = (7 if dark else 6) if passed else (11 if dark else 8)
    outline(image, 1)
    return image


def puff() -> Image:
    """Smoke where an enemy was."""
    image = blank(24, 24)
    for x, y, r in ((8, 14, 5.5), (16, 14, 5), (12, 8, 5.5), (12, 17, 4)):
        ball(image, (x, y), (r, r), (9, 8))
    outline(image, 10)
    return image


def shooter(ready: bool) -> Image:
    """A thorny bulb on a stalk that spits to the right."""
    image = blank(24, 24)
    for x, y in ((4, 22), (19, 22)):
        ellipse(image, (x, y), (4.4, 2), 7)
    line(image, (11, 23), (11, 16), 7, width=4)
    line(image, (10, 23), (10, 16), 5, width=1.2)
    for x, y in ((3, 3), (9, 0), (1, 11)):
        polygon(image, [(8, 6), (x, y), (6, 11)], 8)
    ball(image, (10, 11), (8, 7.5), (2, 3, 4))
    mouth = 4.6 if ready else 3.2
    ball(image, (19, 11), (3.8, mouth + 0.8), (3, 4))
    ellipse(image, (20.4, 11), (2, mouth - 0.8), 8 if ready else 11)
    ellipse(image, (12, 7), (2.4, 2.6), 8)
    image[6:9, 12:14] = 1
    outline(image, 1)
    return image


def shot() -> Image:
    """A glowing seed."""
    image = blank(8, 8)
    ball(image, (4, 4), (3.4, 3.4), (12, 5, 8))
    outline(image, 1)
    return image


def jumper(leaping: bool) -> Image:
    """A cricket with long legs."""
    image = blank(24, 24)
    low = 6 if leaping else 14
    if leaping:
        legs = (((9, 12), (3, 15)), ((3, 15), (1, 22)), ((13, 13), (9, 18)), ((9, 18), (8, 23)))
    else:
        legs = (((9, 17), (3, 8)), ((3, 8), (4, 22)), ((14, 18), (9, 12)), ((9, 12), (12, 22)))
    for start, end in legs:
        line(image, start, end, 7, width=2)
    outline(image, 1)
    line(image, (17, low + 5), (19, min(23, low + 10)), 7, width=2)
    line(image, (18, low - 2), (21, low - 6), 1, width=1)
    line(image, (17, low - 2), (15, low - 6), 1, width=1)
    ball(image, (11, low + 2), (8.5, 4.6), (7, 12, 5))
    for x in (6, 9, 12):
        line(image, (x, low - 1), (x - 2, low + 5), 7, width=1)
    ball(image, (18, low), (4.4, 4.4), (12, 5))
    ellipse(image, (19.6, low - 1), (2, 2.3), 8)
    image[low - 2 : low + 1, 20] = 1
    outline(image, 1)
    return image
