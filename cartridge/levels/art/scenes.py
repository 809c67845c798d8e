"""The background of each zone, by the name of its scenery."""

from functools import cache

from cartridge.levels.art import backdrops, night
from cartridge.levels.art.canvas import Image

SCENES = {
    "wood": backdrops.wood,
    "snow": backdrops.snow,
    "grotto": backdrops.grotto,
    "cliffs": backdrops.cliffs,
    "meadow": backdrops.meadow,
    "orchard": backdrops.orchard,
    "keep": backdrops.keep,
    "dunes": backdrops.dunes,
    "isles": backdrops.isles,
    "cavern": night.cavern,
    "foundry": night.foundry,
    "clockwork": night.clockwork,
    "mine": night.mine,
    "harbor": night.harbor,
}


@cache
def scenery(name: str) -> Image:
    """The background [256, 512]. It is cached, so do not modify it."""
    return SCENES[name]()
