"""Writes the acts, zones and sprites as C data to src/generated. The same every time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cartridge.levels import splits
from cartridge.levels.art.canvas import Image
from cartridge.levels.art.decor import ornaments
from cartridge.levels.art.ground import metatile_images, parts
from cartridge.levels.art.hero import COLOURS as HERO_COLOURS
from cartridge.levels.art.hero import hero_frames
from cartridge.levels.art.hud import hud_frames
from cartridge.levels.art.objects import COLOURS as OBJECT_COLOURS
from cartridge.levels.art.objects import object_frames
from cartridge.levels.art.scenery import scenery
from cartridge.levels.cells import CELL, HEIGHT, Act
from cartridge.levels.check import problems
from cartridge.levels.colours import word
from cartridge.levels.generator import all_acts
from cartridge.levels.paint import (
    DECOR_SIZES,
    GROUND_CLASSES,
    METATILE_COUNT,
    PARTS,
    metatile_shapes,
    paint,
)
from cartridge.levels.tiles import TileSet, sprite_words
from cartridge.levels.zones import ZONES, Zone

GENERATED = Path(__file__).parent.parent / "src" / "generated"
LEVEL_TILES, LEVEL_LIMIT = 1, 639
BACK_TILES, BACK_LIMIT = 640, 384
LEVEL_PALETTE, BACK_PALETTE = 2, 3
SPRITE_TILE_COUNT = 305


@dataclass(frozen=True)
class ZoneArt:
    """A zone's pictures as the console wants them."""

    level: TileSet
    metatiles: list[tuple[int, int, int, int]]
    back: TileSet
    back_map: list[list[int]]


def metatile_pictures(zone: Zone) -> list[Image]:
    """The pictures of all metatiles of a zone, by number."""
    pictures = [parts()["spike"] * 0] * METATILE_COUNT
    index = 4
    for images in metatile_images(zone.texture, [name for name, _ in GROUND_CLASSES]).values():
        for image in images:
            pictures[index] = image
            index += 1
    for name, _ in PARTS:
        pictures[index] = parts()[name]
        index += 1
    for image, (width, height) in zip(ornaments(zone.scenery), DECOR_SIZES, strict=True):
        assert image.shape == (height * CELL, width * CELL)
        for i in range(width * height):
            y, x = i // width * CELL, i % width * CELL
            pictures[index] = image[y : y + CELL, x : x + CELL]
            index += 1
    return pictures


def zone_art(zone: Zone) -> ZoneArt:
    """Draw a zone. Raises ValueError when it needs more tiles than fit."""
    level = TileSet(first=LEVEL_TILES, limit=LEVEL_LIMIT)
    metatiles = []
    for picture in metatile_pictures(zone):
        (tl, tr), (bl, br) = level.picture(picture, palette=LEVEL_PALETTE)
        metatiles.append((tl, tr, bl, br))
    back = TileSet(first=BACK_TILES, limit=BACK_LIMIT)
    back_map = back.picture(scenery(zone.scenery), palette=BACK_PALETTE)
    return ZoneArt(level, metatiles, back, back_map)


def palette_words(zone: Zone) -> list[int]:
    """The four palette lines of a zone, 64 words."""
    lines = (HERO_COLOURS, OBJECT_COLOURS, ("000", *zone.ground), ("000", *zone.back))
    assert all(len(line) == 16 for line in lines)
    return [word(colour) for line in lines for colour in line]


def array(declaration: str, values: Iterable[int], *, digits: int, per_line: int = 16) -> str:
    """A C array in hexadecimal."""
    items = [f"0x{value:0{digits}X}" for value in values]
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return f"{declaration} = {{\n" + "".join(f"    {line},\n" for line in lines) + "};\n\n"


def zones_c() -> str:
    """zones.c: palettes, tiles, metatiles, backgrounds."""
    text, rows = "", []
    for zone in ZONES:
        art, name = zone_art(zone), zone.name
        tiles = [word for tile in art.level.words for word in tile]
        back = [word for tile in art.back.words for word in tile]
        metatiles = [word for metatile in art.metatiles for word in metatile]
        back_map = [word for row in art.back_map for word in row]
        text += array(f"static const u16 {name}_palette[]", palette_words(zone), digits=4)
        text += array(f"static const u32 {name}_tiles[]", tiles, digits=8, per_line=8)
        text += array(f"static const u16 {name}_metatiles[]", metatiles, digits=4)
        text += array(f"static const u32 {name}_back_tiles[]", back, digits=8, per_line=8)
        text += array(f"static const u16 {name}_back_map[]", back_map, digits=4)
        rows.append(
            f"{{ {name}_palette, {name}_tiles, {len(art.level.words)}, {name}_metatiles, "
            f"{METATILE_COUNT}, {name}_back_tiles, {len(art.back.words)}, {name}_back_map }}"
        )
    return text + _table("Zone zones", "u8 zone_count", rows)


def acts_c(acts: Sequence[Act]) -> str:
    """acts.c: maps and spawns."""
    text, rows = "", []
    for act in acts:
        name = f"{ZONES[act.zone].name}_{act.number}"
        cells = [metatile for column in paint(act) for metatile in column]
        spawns = [f"    {{ {s.kind:d}, {s.arg}, {s.x}, {s.y} }},\n" for s in act.spawns]
        text += array(f"static const u8 {name}_map[]", cells, digits=2, per_line=HEIGHT)
        text += f"static const Spawn {name}_spawns[] = {{\n{''.join(spawns)}}};\n\n"
        rows.append(
            f"{{ {act.zone}, {act.number}, {act.width}, {HEIGHT}, {name}_map, {name}_spawns, "
            f"{len(spawns)}, {act.start[0]}, {act.start[1]}, {act.end_x} }}"
        )
    return text + _table("Act acts", "u8 act_count", rows)


def _table(name: str, count: str, rows: Sequence[str]) -> str:
    body = "".join(f"    {row},\n" for row in rows)
    return f"const {name}[] = {{\n{body}}};\nconst {count} = {len(rows)};\n"


def shapes_c() -> str:
    """shapes.c: the collision shape of every metatile."""
    return array("const u8 metatile_shape[256]", metatile_shapes(), digits=1)


def sprites_c() -> str:
    """sprites.c: all sprites, in the order of src/sprites.h."""
    frames = [*hero_frames(), *object_frames(), *hud_frames()]
    tiles = [tile for frame in frames for tile in sprite_words(frame)]
    assert len(tiles) == SPRITE_TILE_COUNT, len(tiles)
    words = [word for tile in tiles for word in tile]
    return (
        array("const u32 sprite_tiles[]", words, digits=8, per_line=8)
        + f"const u16 sprite_tile_count = {len(tiles)};\n"
    )


def checked_acts() -> list[Act]:
    """All acts. Raises ValueError when one breaks a rule of check.py."""
    acts = all_acts()
    for act in acts:
        if found := problems(act):
            raise ValueError(f"{ZONES[act.zone].name}.Act{act.number}: {'; '.join(found)}")
    return acts


def files() -> dict[str, str]:
    """The text of every generated file, by name."""
    head = "/* Written by python -m cartridge.levels emit. */\n"
    include = '#include "../level.h"\n\n'
    made = {
        "zones.c": zones_c(),
        "acts.c": acts_c(checked_acts()),
        "shapes.c": shapes_c(),
        "sprites.c": sprites_c(),
    }
    return {name: head + include + text for name, text in made.items()}


def emit(folder: Path = GENERATED, *, split_folder: Path = splits.FOLDER) -> list[Path]:
    """Write the generated files and the splits; those that are unchanged are left alone."""
    made = {folder / name: text for name, text in files().items()}
    made |= {split_folder / name: text for name, text in splits.files().items()}
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return list(made)
