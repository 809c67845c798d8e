"""Letters, digits and signs of the head-up display and the title. Colours as in art/hero.py."""

from string import ascii_uppercase

import numpy as np

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, from_rows, outline, polygon

FONT = """
0 .###. #...# #..## #.#.# ##..# #...# .###.
1 ..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.
2 .###. #...# ....# ..##. .#... #.... #####
3 .###. #...# ....# ..##. ....# #...# .###.
4 ...#. ..##. .#.#. #..#. ##### ...#. ...#.
5 ##### #.... ####. ....# ....# #...# .###.
6 .###. #.... #.... ####. #...# #...# .###.
7 ##### ....# ...#. ..#.. ..#.. ..#.. ..#..
8 .###. #...# #...# .###. #...# #...# .###.
9 .###. #...# #...# .#### ....# ....# .###.
: ..... ..#.. ..#.. ..... ..#.. ..#.. .....
- ..... ..... ..... ##### ..... ..... .....
A .###. #...# #...# ##### #...# #...# #...#
B ####. #...# #...# ####. #...# #...# ####.
C .###. #...# #.... #.... #.... #...# .###.
D ####. #...# #...# #...# #...# #...# ####.
E ##### #.... #.... ####. #.... #.... #####
F ##### #.... #.... ####. #.... #.... #....
G .###. #...# #.... #.### #...# #...# .###.
H #...# #...# #...# ##### #...# #...# #...#
I .###. ..#.. ..#.. ..#.. ..#.. ..#.. .###.
J ....# ....# ....# ....# #...# #...# .###.
K #...# #..#. #.#.. ##... #.#.. #..#. #...#
L #.... #.... #.... #.... #.... #.... #####
M #...# ##.## #.#.# #.#.# #...# #...# #...#
N #...# ##..# #.#.# #..## #...# #...# #...#
O .###. #...# #...# #...# #...# #...# .###.
P ####. #...# #...# ####. #.... #.... #....
Q .###. #...# #...# #...# #.#.# #..#. .##.#
R ####. #...# #...# ####. #.#.. #..#. #...#
S .#### #.... #.... .###. ....# ....# ####.
T ##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..
U #...# #...# #...# #...# #...# #...# .###.
V #...# #...# #...# #...# .#.#. .#.#. ..#..
W #...# #...# #...# #.#.# #.#.# ##.## #...#
X #...# #...# .#.#. ..#.. .#.#. #...# #...#
Y #...# #...# .#.#. ..#.. ..#.. ..#.. ..#..
Z ##### ....# ...#. ..#.. .#... #.... #####
"""
GLYPHS = {name: rows for name, *rows in map(str.split, FONT.strip().splitlines())}
"""Seven rows of five pixels by name."""


def glyph(rows: list[str]) -> Image:
    """A letter or digit with a dark edge."""
    image = blank(8, 8)
    image[0:7, 1:6] = from_rows([row.replace("#", "6") for row in rows])
    outline(image, 1)
    return image


def glyphs() -> dict[str, Image]:
    """Digits, colon and capital letters."""
    return {name: glyph(rows) for name, rows in GLYPHS.items()}


def hud_frames() -> list[Image]:
    """Digits, ring, clock, life, colon, letters: 8x8 each.

    All but the letters lie on dark plates."""
    letters = glyphs()
    ring, clock, life = blank(8, 8), blank(8, 8), blank(8, 8)
    ball(ring, (4, 4), (3, 3), (12, 11))
    ellipse(ring, (4, 4), (1, 1), 0)
    ball(clock, (4, 4), (3, 3), (15, 6))
    clock[2:5, 4] = clock[4, 4:6] = 1
    polygon(life, [(1, 1), (4, 3), (7, 1), (6, 7), (2, 7)], 3)
    for image in (ring, clock, life):
        outline(image, 1)
    signs = [*(letters[d] for d in "0123456789"), ring, clock, life, letters[":"]]
    return [*map(plate, signs), *(letters[c] for c in ascii_uppercase)]


def plate(image: Image) -> Image:
    """The image on a dark plate, so that it is legible before any sky."""
    return np.where(image, image, 1).astype(np.uint8)
