"""Writes the acts, zones and sprites as C data to src/generated, the same every time."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from cartridge.levels import drawing, splits
from cartridge.levels.cells import HEIGHT, Act
from cartridge.levels.check import problems
from cartridge.levels.generator import SEED, all_acts
from cartridge.levels.paint import METATILE_COUNT, metatile_shapes, paint
from cartridge.levels.zones import ZONES, name_of

GENERATED = Path(__file__).parent.parent / "src" / "generated"
flat = chain.from_iterable


def array(declaration: str, values: Iterable[int], *, digits: int) -> str:
    """A C array in hexadecimal."""
    items = [f"0x{value:0{digits}X}" for value in values]
    per_line = 8 if digits == 8 else 16
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return f"{declaration} = {{\n" + "".join(f"    {line},\n" for line in lines) + "};\n\n"


def zones_c() -> str:
    """zones.c: palettes, tiles, metatiles, backgrounds."""
    text, rows = "", []
    for zone in ZONES:
        art, name = drawing.zone_art(zone.name), zone.name
        text += array(f"static const u16 {name}_palette[]", drawing.palette_words(name), digits=4)
        text += array(f"static const u32 {name}_tiles[]", flat(art.level.words), digits=8)
        text += array(f"static const u16 {name}_metatiles[]", flat(art.metatiles), digits=4)
        text += array(f"static const u32 {name}_back_tiles[]", flat(art.back.words), digits=8)
        text += array(f"static const u16 {name}_back_map[]", flat(art.back_map), digits=4)
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
        columns = [",".join(map(str, column)) + ",\n" for column in paint(act)]
        spawns = [
            f"{{{s.kind:d},{s.arg},{s.x},{s.y},{s.arg2 & 0xFF},{s.arg3}}},\n" for s in act.spawns
        ]
        text += f"static const u8 {name}_map[] = {{\n{''.join(columns)}}};\n\n"
        text += f"static const Spawn {name}_spawns[] = {{\n{''.join(spawns)}}};\n\n"
        rows.append(
            f"{{ {act.zone}, {act.number}, {act.width}, {HEIGHT}, {name}_map, {name}_spawns, "
            f"{len(spawns)}, {act.start[0]}, {act.start[1]}, {act.end_x}, {act.water_y} }}"
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
    return _tiles("sprite", drawing.sprite_tiles())


def title_c() -> str:
    """title.c: the logo."""
    tiles, rows = drawing.logo_art()
    return _tiles("logo", tiles.words) + array("const u16 logo_map[]", flat(rows), digits=4)


def _tiles(name: str, tiles: Sequence[Sequence[int]]) -> str:
    text = array(f"const u32 {name}_tiles[]", flat(tiles), digits=8)
    return text + f"const u16 {name}_tile_count = {len(tiles)};\n"


def checked(acts: Sequence[Act]) -> Sequence[Act]:
    """Returns the acts. Raises ValueError if one breaks a rule of check.py."""
    for act in acts:
        if faults := problems(act):
            raise ValueError(f"{name_of(act)}: {'; '.join(faults)}")
    return acts


def files(acts: Sequence[Act]) -> dict[str, str]:
    """The text of every generated file, by name; the acts are not checked."""
    head = "/* Written by python -m cartridge.levels emit. */\n"
    include = '#include "../level.h"\n\n'
    made = {
        "zones.c": zones_c(),
        "acts.c": acts_c(acts),
        "shapes.c": shapes_c(),
        "sprites.c": sprites_c(),
        "title.c": title_c(),
    }
    return {name: head + include + text for name, text in made.items()}


def emit(folder: Path = GENERATED, *, split_folder: Path | None = None) -> list[Path]:
    """Write the generated files and, if a folder is given, the splits.

    Unchanged files are not written."""
    made = {folder / name: text for name, text in files(checked(all_acts(SEED))).items()}
    if split_folder:
        made |= {split_folder / name: text for name, text in splits.files().items()}
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return list(made)
