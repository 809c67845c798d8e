"""The hero, the enemies and the objects, laid out as src/sprites.h says."""

from cartridge.levels.art.canvas import Image, ball, blank, ellipse, from_rows, outline, polygon

HERO_COLOURS = "000 100 310 520 741 763 777 700 411 246 135 753 430 222 555 777".split()
OBJECT_COLOURS = "000 100 302 504 726 750 772 531 777 555 333 222 700 742 046 267".split()

GLYPHS = """
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


def glyph(rows: list[str], colour: int) -> Image:
    """A letter or digit with a dark edge."""
    image = blank(8, 8)
    image[0:7, 1:6] = from_rows([r.replace("#", f"{colour:x}") for r in rows])
    outline(image, 1)
    return image


def glyphs() -> dict[str, Image]:
    """Digits, colon and capital letters."""
    lines = [line.split() for line in GLYPHS.strip().splitlines()]
    return {name: glyph(rows, 6) for name, *rows in lines}


def _placeholder(width: int, height: int, colours: tuple[int, ...]) -> Image:
    image = blank(width, height)
    ball(image, (width / 2, height / 2 + 1), (width / 2 - 2, height / 2 - 2), colours)
    outline(image, 1)
    return image


def hero_frames() -> list[Image]:
    """Stand, four of running, four of rolling, crouch, hurt: 32x32 each."""
    return [_placeholder(32, 32, (2, 3, 4, 5)) for _ in range(11)]


def object_frames() -> list[Image]:
    """From SPRITE_WALKER to SPRITE_PUFF."""
    sizes = [(24, 24)] * 4 + [(24, 16)] * 2 + [(16, 16)] * 2 + [(24, 32)] * 2 + [(24, 24)]
    return [_placeholder(w, h, (2, 3, 4)) for w, h in sizes]


def hud_frames() -> list[Image]:
    """Digits, ring, clock, life, colon, letters: 8x8 each."""
    letters = glyphs()
    ring, clock, life = blank(8, 8), blank(8, 8), blank(8, 8)
    ball(ring, (4, 4), (3, 3), (4, 5))
    ellipse(ring, (4, 4), (1, 1), 0)
    ball(clock, (4, 4), (3, 3), (15, 6))
    clock[2:5, 4] = clock[4, 4:6] = 1
    polygon(life, [(1, 1), (4, 3), (7, 1), (6, 7), (2, 7)], 3)
    for image in (ring, clock, life):
        outline(image, 1)
    digits = [letters[d] for d in "0123456789"]
    return [*digits, ring, clock, life, letters[":"], *(letters[c] for c in _alphabet())]


def _alphabet() -> str:
    return "".join(chr(ord("A") + i) for i in range(26))
