"""Springs, platforms, traps, gates and the like. Colours as in art/objects.py.

"Half" is the left half of a picture that the engine draws twice, the second time mirrored."""

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, line, outline, polygon


def spring_side(pressed: bool) -> Image:
    """A spring that pushes to the right: base, coil, red pad."""
    image = blank(16, 24)
    pad = 11 if pressed else 7
    image[3:23, 1:4] = 9
    image[3:23, 1] = 8
    image[20:24, 1:12] = 10
    for i, y in enumerate((7, 11, 15, 19)):
        line(image, (4, y), (pad, y - 2 + i % 2), 8, width=1.6)
    image[3:22, pad : pad + 4] = 13
    image[3:22, pad + 3] = 12
    image[4:21, pad] = 2
    image[5:9, pad + 1] = 8
    outline(image, 1)
    return image


def platform() -> Image:
    """Half of a floating platform with an engine under its middle; bright on top."""
    image = blank(24, 16)
    image[0:2] = 8
    image[2] = 5
    image[3:7] = 15
    image[6:8] = 14
    image[8] = 1
    image[3:7, 3::7] = 14
    image[0:9, 0] = 1
    image[7:9, 1] = 0
    image[8, 1:3] = 1
    polygon(image, [(17, 9), (24, 9), (24, 14), (20, 14)], 9)
    image[9:13, 22:24] = 8
    image[13:15, 21:24] = 12
    image[14, 22:24] = 6
    outline(image, 1)
    return image


def crumble() -> Image:
    """Half of a brittle slab."""
    image = blank(24, 16)
    image[0] = 8
    image[1:3] = 9
    image[3:9] = 12
    image[7:10] = 7
    for x, y in ((3, 11), (4, 11), (9, 12), (10, 11), (15, 13), (16, 12), (17, 11), (21, 11)):
        image[9:y, x : x + 3] = 7
    for start, end in (
        ((6, 1), (9, 6)),
        ((9, 6), (7, 10)),
        ((17, 3), (15, 7)),
        ((15, 7), (19, 12)),
    ):
        line(image, start, end, 1, width=1.2)
    line(image, (9, 6), (13, 7), 1, width=1)
    image[:10, 0] = 1
    outline(image, 1)
    return image


def piston_tip() -> Image:
    """Three bright points on a head of iron."""
    image = blank(16, 16)
    image[10:15, 1:15] = 9
    image[10, 1:15] = 8
    image[14, 1:15] = 10
    image[12, 3:13:3] = 13
    for x in (3, 8, 13):
        polygon(image, [(x, -1), (x + 3.2, 11), (x - 3.2, 11)], 1)
        polygon(image, [(x, 1), (x + 2.2, 10), (x - 2.2, 10)], 8)
        image[6:10, x] = 9
    image[15] = 1
    image[10:15, 0] = image[10:15, 15] = 1
    return image


def piston_shaft() -> Image:
    """A rod with bright blades at its sides; repeats downward."""
    image = blank(16, 16)
    image[:, 5:11] = 9
    image[:, 6] = 8
    image[:, 10] = 10
    image[:, 4] = image[:, 11] = 1
    image[7, 5:11] = 1
    for y in (3, 11):
        for side, x in ((-1, 4), (1, 12)):
            polygon(image, [(x, y - 4), (x + side * 4.5, y), (x, y + 4)], 1)
            polygon(image, [(x, y - 2), (x + side * 3, y), (x, y + 2)], 8)
    return image


def piston_base() -> Image:
    """The plate in the floor from which it comes."""
    image = blank(24, 8)
    image[3:8, 1:23] = 10
    image[3, 1:23] = 9
    image[4:7, 2::6] = image[4:7, 3::6] = 5
    image[3:6, 7:17] = 11
    outline(image, 1)
    return image


def breakable() -> Image:
    """Cracked brickwork that a ball breaks; repeats downward."""
    image = blank(16, 16, 12)
    image[:, 0] = image[:, 15] = 1
    for y in (0, 8):
        image[y, 1:15] = 6
        image[y + 6, 1:15] = 7
        image[y + 7, 1:15] = 1
    image[0:8, 9] = image[8:16, 5] = 1
    cracks = (((3, 0), (6, 4)), ((6, 4), (4, 9)), ((4, 9), (9, 13)), ((9, 13), (8, 16)))
    for start, end in (*cracks, ((6, 4), (12, 6)), ((12, 6), (13, 11))):
        line(image, start, end, 1, width=1.3)
    image[5, 7:11] = image[10, 5:8] = 8
    return image


def rubble() -> Image:
    """A piece of a broken wall."""
    image = blank(8, 8)
    polygon(image, [(1, 2), (5, 1), (7, 4), (6, 7), (2, 6)], 12)
    image[2, 2:5] = 6
    outline(image, 1)
    return image


def switch(touched: bool) -> Image:
    """A button on a pedestal: red and high, then blue and low."""
    image = blank(16, 16)
    polygon(image, [(1, 16), (3, 11), (13, 11), (15, 16)], 9)
    image[11, 3:13] = 8
    image[14:16, 2:14] = 10
    top = 9 if touched else 4
    image[top:11, 4:12] = 14 if touched else 13
    image[top, 5:11] = 15 if touched else 12
    image[top + 1, 5:7] = 8
    outline(image, 1)
    return image


def gate() -> Image:
    """Bars of iron; repeats downward."""
    image = blank(16, 16)
    for x in (1, 6, 11):
        image[:, x : x + 4] = 9
        image[:, x + 1] = 8
        image[:, x + 3] = 10
        image[:, x - 1] = 1
    image[:, 5] = image[:, 10] = image[:, 15] = 1
    image[5:9] = 14
    image[5] = 15
    image[4] = image[9] = 1
    image[6:8, 2:14:5] = image[6:8, 3:14:5] = 8
    image[4:10, 0] = image[4:10, 15] = 1
    return image


def checkpoint(touched: bool) -> Image:
    """A lantern on a post: dark, then lit."""
    image = blank(16, 32)
    line(image, (8, 32), (8, 14), 9, width=3)
    line(image, (7, 32), (7, 14), 8, width=1)
    image[30:32, 3:13] = 10
    image[29, 4:12] = 9
    ball(image, (8, 8), (6, 6), (7, 5, 6, 8) if touched else (11, 10, 9))
    image[1:3, 4:12] = 13 if touched else 14
    image[14, 4:12] = 10
    if touched:
        for x, y in ((1, 3), (14, 3), (1, 13), (14, 13)):
            image[y, x] = 6
    else:
        ellipse(image, (8, 9), (2, 2), 11)
    outline(image, 1)
    return image


def booster(step: int) -> Image:
    """A pad in the floor with arrows that run to the right."""
    image = blank(32, 8)
    image[1:8, 1:31] = 11
    image[1, 1:31] = image[7, 1:31] = 14
    for i, x in enumerate((4, 13, 22)):
        colour = 8 if i % 2 == step else 12
        polygon(image, [(x, 2), (x + 6, 4.5), (x, 7)], colour)
    outline(image, 1)
    return image


def wind() -> Image:
    """A streak of blown air."""
    image = blank(32, 8)
    image[2, 8:27] = image[5, 1:19] = 8
    image[3, 14:22] = image[6, 6:13] = 9
    image[1, 26:28] = image[0, 24:27] = 8
    return image
