"""The ornaments of every zone. Each has six, of the sizes in paint.DECOR_SIZES: three small ones,
a wide one, a square one and a tall one."""

from collections.abc import Callable

from cartridge.levels.art.canvas import Image
from cartridge.levels.art.plants import (
    bent_tree,
    bush,
    cactus,
    drift,
    flower,
    fruit_tree,
    fruits,
    mushrooms,
    palm,
    pebbles,
    pine,
    sunflower,
    tree,
    tuft,
    weeds,
)
from cartridge.levels.art.things import (
    banner,
    bollard,
    clock,
    cog,
    crystals,
    fence,
    flare,
    girder,
    lantern,
    pennant,
    rope,
    shell,
    starfish,
    torch,
)

LEAVES = (6, 7, 8)
ORNAMENTS: dict[str, Callable[[], list[Image]]] = {
    "wood": lambda: [
        tuft("a", blades=7, height=9),
        flower(14, 15),
        flower(12, 15),
        bush(32, 16, LEAVES, 14),
        bush(32, 32, LEAVES, 14),
        tree(LEAVES),
    ],
    "cavern": lambda: [
        pebbles(),
        mushrooms(16, 16, ((0.5, 0.3),)),
        tuft("b", blades=4, height=6),
        mushrooms(32, 16, ((0.26, 0.35), (0.7, 0.15))),
        mushrooms(32, 32, ((0.24, 0.5), (0.64, 0.12))),
        girder(),
    ],
    "snow": lambda: [
        drift(16),
        tuft("c", blades=5, height=8),
        pebbles(),
        drift(32),
        bush(32, 32, (6, 8, 9), 14),
        pine(),
    ],
    "grotto": lambda: [
        weeds(12, colours=(3, 4)),
        starfish(),
        shell(),
        bush(32, 16, (3, 4, 5), 8),
        bush(32, 32, (3, 4, 5), 8),
        palm(),
    ],
    "cliffs": lambda: [
        tuft("gale", blades=8, height=12),
        flower(14, 15),
        pebbles(),
        fence(32),
        bush(32, 32, LEAVES, 14),
        bent_tree(),
    ],
    "foundry": lambda: [
        cog(16),
        pebbles(),
        torch(),
        fence(32),
        pennant(),
        flare(),
    ],
    "meadow": lambda: [
        flower(14, 15),
        flower(9, 14),
        weeds(9, colours=(7, 8)),
        mushrooms(32, 16, ((0.3, 0.3), (0.74, 0.5))),
        bush(32, 32, LEAVES, 14),
        sunflower(),
    ],
    "clockwork": lambda: [
        cog(16),
        weeds(10, colours=(7, 8)),
        torch(),
        fence(32),
        pennant(),
        clock(),
    ],
    "orchard": lambda: [
        fruits(16, 14),
        mushrooms(16, 16, ((0.5, 0.35),)),
        tuft("orchard", blades=6, height=8),
        fruits(32, 15),
        bush(32, 32, LEAVES, 14),
        fruit_tree(14),
    ],
    "keep": lambda: [
        torch(),
        weeds(10, colours=(7, 8)),
        tuft("keep", blades=6, height=9),
        bush(32, 16, LEAVES, 14),
        pennant(),
        banner(),
    ],
    "isles": lambda: [
        flower(14, 15),
        tuft("isles", blades=6, height=8),
        flower(15, 14),
        bush(32, 16, LEAVES, 15),
        bush(32, 32, LEAVES, 15),
        fruit_tree(15),
    ],
    "mine": lambda: [
        crystals(16, 16, ((0.5, 0.5, 0.8), (0.25, 0.15, 0.5))),
        pebbles(),
        crystals(16, 16, ((0.35, 0.3, 0.6), (0.7, 0.8, 0.9))),
        crystals(32, 16, ((0.2, 0.15, 0.6), (0.5, 0.5, 0.95), (0.8, 0.88, 0.7))),
        crystals(32, 32, ((0.3, 0.2, 0.6), (0.7, 0.8, 0.9))),
        crystals(48, 64, ((0.25, 0.15, 0.45), (0.75, 0.86, 0.6), (0.5, 0.46, 0.92))),
    ],
    "dunes": lambda: [
        cactus(16, 16),
        pebbles(),
        tuft("dunes", blades=4, height=7),
        bush(32, 16, (6, 7, 8), 9),
        bush(32, 32, (6, 7, 8), 9),
        cactus(48, 64),
    ],
    "harbor": lambda: [
        rope(),
        bollard(),
        tuft("harbor", blades=6, height=8),
        fence(32),
        pennant(),
        lantern(),
    ],
}


def ornaments(name: str) -> list[Image]:
    """The six ornaments of a zone's scenery."""
    return ORNAMENTS[name]()
