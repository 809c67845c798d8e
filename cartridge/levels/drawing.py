"""Converts a zone's pictures to the console's format: tiles, metatiles, palettes."""

from dataclasses import dataclass
from functools import cache

from cartridge.levels.art.canvas import Image, blank
from cartridge.levels.art.decor import ornaments
from cartridge.levels.art.ground import metatile_images
from cartridge.levels.art.hero import COLOURS as HERO_COLOURS
from cartridge.levels.art.logo import logo
from cartridge.levels.art.objects import COLOURS as OBJECT_COLOURS
from cartridge.levels.art.parts import parts
from cartridge.levels.art.scenes import scenery
from cartridge.levels.art.sprites import sprite_frames
from cartridge.levels.cells import CELL
from cartridge.levels.colours import word
from cartridge.levels.looks import look
from cartridge.levels.paint import (
    BEFORE_SPRITES,
    DECOR_SIZES,
    FIRST_DECOR,
    FIRST_GROUND,
    FIRST_PART,
    GROUND_CLASSES,
    METATILE_COUNT,
    PARTS,
)
from cartridge.levels.tiles import TileSet, sprite_words

LEVEL_TILES, LEVEL_LIMIT = 1, 639
BACK_TILES, BACK_LIMIT = 640, 384
LEVEL_PALETTE, BACK_PALETTE, LOGO_PALETTE = 2, 3, 0
LOGO_LIMIT = 280
PRIORITY = 0x8000
"""The bit that draws a tile over the sprites."""


@dataclass(frozen=True)
class ZoneArt:
    """A zone's pictures in the console's format."""

    level: TileSet
    metatiles: list[tuple[int, int, int, int]]
    back: TileSet
    back_map: list[list[int]]


@cache
def metatile_pictures(zone: str) -> tuple[Image, ...]:
    """The pictures of all metatiles of a zone, by number."""
    pictures = [blank(CELL, CELL)] * METATILE_COUNT
    style = look(zone)
    grounds = metatile_images(style.texture, style.cover, [name for name, _ in GROUND_CLASSES])
    for i, image in enumerate(image for images in grounds.values() for image in images):
        pictures[FIRST_GROUND + i] = image
    made = parts(block_style=style.block, platform_style=style.platform, spike_style=style.spike)
    for i, (name, _) in enumerate(PARTS):
        pictures[FIRST_PART + i] = made[name]
    index = FIRST_DECOR
    for image, (width, height) in zip(ornaments(style.scenery), DECOR_SIZES, strict=True):
        assert image.shape == (height * CELL, width * CELL)
        for i in range(width * height):
            y, x = i // width * CELL, i % width * CELL
            pictures[index] = image[y : y + CELL, x : x + CELL]
            index += 1
    return tuple(pictures)


@cache
def zone_art(zone: str) -> ZoneArt:
    """Draws a zone, by its name. Raises ValueError if it needs more tiles than fit."""
    level = TileSet(first=LEVEL_TILES, limit=LEVEL_LIMIT)
    metatiles = []
    for number, picture in enumerate(metatile_pictures(zone)):
        (tl, tr), (bl, br) = level.picture(picture, palette=LEVEL_PALETTE)
        before = PRIORITY if number in BEFORE_SPRITES else 0
        metatiles.append((tl | before, tr | before, bl | before, br | before))
    back = TileSet(first=BACK_TILES, limit=BACK_LIMIT)
    back_map = back.picture(scenery(look(zone).scenery), palette=BACK_PALETTE)
    return ZoneArt(level, metatiles, back, back_map)


def palette_words(zone: str) -> list[int]:
    """The four palette lines of a zone, 64 words."""
    style = look(zone)
    lines = (HERO_COLOURS, OBJECT_COLOURS, ("000", *style.ground), ("000", *style.back))
    assert all(len(line) == 16 for line in lines)
    return [word(colour) for line in lines for colour in line]


def logo_art() -> tuple[TileSet, list[list[int]]]:
    """The title's tiles and its map of words, [LOGO_ROWS][LOGO_COLUMNS] of src/level.h."""
    tiles = TileSet(first=LEVEL_TILES, limit=LOGO_LIMIT)
    return tiles, tiles.picture(logo(), palette=LOGO_PALETTE)


def sprite_tiles() -> list[tuple[int, ...]]:
    """The tiles of all sprites, in the order of src/sprites.h."""
    return [tile for sprite in sprite_frames() for tile in sprite_words(sprite.image)]
