"""Covers of the ground: grass, snow, rails. A cover is 16 rows deep and repeats after 32 columns,
in the colours of art/ground.py; where it is 0, the pattern below shows."""

from collections.abc import Callable
from random import Random

from cartridge.levels.art.canvas import Image, blank, wave
from cartridge.levels.art.patterns import PERIOD

DEPTH = 16


def ragged(seed: str, low: int, high: int, *, step: int = 7) -> list[int]:
    """The depth of blades at each column."""
    rng, depth, profile = Random(f"fringe.{seed}"), (low + high) // 2, []
    for x in range(PERIOD):
        depth = low + 1 + (x * step % 4) + rng.randint(-1, 1) if x % 2 else depth - 1
        profile.append(max(low, min(high, depth)))
    return profile


def turf(hang: list[int]) -> Image:
    """Grass from light to dark, as deep as hang says, with an edge all around."""
    image = blank(PERIOD, DEPTH)
    for x, deep in enumerate(hang):
        image[0, x], image[deep + 1, x], image[deep, x] = 1, 1, 6
        image[2 : deep - 1, x] = 8
        image[deep - 2 : deep, x] = 7
        image[1, x] = 9
    return image


def scallops(width: int, low: int, high: int) -> list[int]:
    """Round lobes of the given width."""
    lobe = [low + round((high - low) * wave((x + 0.5) / (2 * width))) for x in range(width)]
    return lobe * (PERIOD // width)


def teeth(width: int, low: int, high: int) -> list[int]:
    """Pointed teeth of the given width."""
    half = width // 2
    tooth = [low + (high - low) * min(x, width - 1 - x) // (half - 1) for x in range(width)]
    return tooth * (PERIOD // width)


def bands(colours: tuple[int, ...]) -> Image:
    """Flat layers, from the surface downward."""
    image = blank(PERIOD, DEPTH)
    for y, colour in enumerate(colours):
        image[y] = colour
    return image


def hazard() -> Image:
    """A rail with slanting stripes."""
    image = bands((1, 9, 8, 8, 8, 8, 1, 5, 1))
    for y in range(2, 6):
        for x in range(PERIOD):
            if (x + y) % 8 < 4:
                image[y, x] = 6
    return image


def rail() -> Image:
    """A steel rail on brackets, bolted at every eighth pixel."""
    image = bands((1, 9, 8, 7, 6, 1))
    image[3, 3::8] = 9
    image[5:8, 0::16] = image[5:8, 1::16] = 6
    image[5:8, 2::16] = image[5:8, 15::16] = 1
    image[8, 0::16] = image[8, 1::16] = 1
    return image


def curb() -> Image:
    """Wet boards across the beams, with gaps between."""
    image = bands((1, 9, 8, 8, 7, 6, 1))
    image[1:6, 7::8] = 1
    image[1, 0::8] = 8
    image[6, 3::8] = 6
    image[7, 3::8] = 1
    return image


def lawn() -> Image:
    """Short grass with a light and a dark half, cut to lobes."""
    image = turf(scallops(8, 4, 8))
    for x in range(PERIOD):
        if x // 8 % 2:
            column = image[2:, x]
            column[column == 8] = 7
    return image


def leaves() -> Image:
    """Fallen leaves, mottled."""
    image = turf(ragged("leaves", 5, 9, step=5))
    rng = Random("leaves")
    for _ in range(44):
        x, y = rng.randrange(PERIOD), rng.randint(1, 6)
        if image[y, x] > 5:
            image[y, x] = image[y, (x + 1) % PERIOD] = rng.choice((6, 8, 9, 9, 15))
    return image


def briars() -> Image:
    """A curb of stone with briars growing over it."""
    image = bands((1, 5, 5, 4, 3, 1))
    image[1:5, 15::16] = 2
    for x in range(PERIOD):
        deep = 5 + round(2.4 * wave(x / 16))
        for dy, colour in ((-1, 1), (0, 8), (1, 7), (2, 6), (3, 1)):
            image[deep + dy, x] = colour
    for x in range(2, PERIOD, 8):
        y = 5 + round(2.4 * wave(x / 16))
        image[y - 2 : y, x] = 9
    for x, y in ((6, 9), (22, 9)):
        image[y, x : x + 2] = image[y + 1, x : x + 2] = 14
    return image


def cover(name: str) -> Image:
    """The cover [16, 32] of a zone's ground."""
    made: dict[str, Callable[[], Image]] = {
        "grass": lambda: turf(ragged("soil", 4, 9)),
        "crust": lambda: turf(ragged("rock", 4, 9)),
        "snow": lambda: turf(scallops(16, 5, 10)),
        "sand": lambda: turf(
            [5 + round(1.2 * wave(x / 32) + 0.8 * wave(x / 16)) for x in range(32)]
        ),
        "windgrass": lambda: turf([5 + (31 - x) % 8 for x in range(32)]),
        "crystals": lambda: turf(teeth(8, 4, 9)),
        "hazard": hazard,
        "rail": rail,
        "curb": curb,
        "lawn": lawn,
        "leaves": leaves,
        "briars": briars,
    }
    return made[name]()
