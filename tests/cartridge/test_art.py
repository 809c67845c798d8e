"""What is drawn: within the console's limits, told apart by agents that see 84x84 grey."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cartridge.levels import drawing
from cartridge.levels.art import canvas, covers, parts, patterns
from cartridge.levels.art.hero import COLOURS as HERO_COLOURS
from cartridge.levels.art.objects import COLOURS as OBJECT_COLOURS
from cartridge.levels.art.scenes import scenery
from cartridge.levels.art.sprites import sprite_frames
from cartridge.levels.cells import CELL, Cell, Shape, Spawn, SpawnKind
from cartridge.levels.generator import all_acts
from cartridge.levels.looks import LOOKS, look
from cartridge.levels.paint import GROUND_ID, METATILE_COUNT, PART_ID, metatile_shapes, paint
from cartridge.levels.zones import ZONES
from retro_agents.ground.errors import UserError

NAMES = [zone.name for zone in ZONES]
SPRITES_H = Path(drawing.__file__).parent.parent / "src" / "sprites.h"


def grey(colours):
    """Brightness 0..255 of a palette line, index 0 being black."""
    levels = np.array([[int(digit) for digit in colour] for colour in ("000", *colours)])
    shades: NDArray[np.float64] = levels @ np.array([0.299, 0.587, 0.114]) * 255 / 7
    return shades


def metatile_grey(zone, number):
    """Brightness of a metatile's opaque pixels."""
    image = drawing.metatile_pictures(zone)[number]
    return grey(look(zone).ground)[image[image > 0]]


def test_every_zone_has_a_look_and_no_look_is_idle():
    assert set(LOOKS) == set(NAMES)
    assert len(NAMES) == 14


def test_zone_without_a_look_is_a_clear_error():
    with pytest.raises(UserError, match="'Nowhere' has no look"):
        look("Nowhere")


@pytest.mark.parametrize("zone", NAMES)
def test_zone_fits_into_video_memory(zone):
    art = drawing.zone_art(zone)
    assert len(art.level.words) <= 639
    assert len(art.back.words) <= 384
    assert len(art.metatiles) == METATILE_COUNT <= 256
    assert (len(art.back_map), len(art.back_map[0])) == (32, 64)


@pytest.mark.parametrize("zone", NAMES)
def test_ground_stands_out_from_the_background_in_grey(zone):
    ground = np.mean([metatile_grey(zone, GROUND_ID["fill"] + i).mean() for i in range(4)])
    rows = grey(look(zone).back)[scenery(look(zone).scenery)].mean(1)
    assert abs(rows - ground).mean() >= 40
    assert np.mean(abs(rows - ground) >= 20) >= 0.95
    signs = np.sign(rows - ground)
    assert np.mean(signs == np.sign(signs.sum())) >= 0.95, "neither darker nor lighter"


@pytest.mark.parametrize("zone", NAMES)
def test_spikes_are_the_brightest_thing_on_the_ground(zone):
    spike = metatile_grey(zone, PART_ID["spike"])
    ground = metatile_grey(zone, GROUND_ID["fill"])
    assert spike.max() == 255
    assert np.mean(spike >= 240) >= 0.2
    assert np.mean(ground >= 240) == 0


def test_no_two_zones_look_alike():
    pictures = {
        name: drawing.metatile_pictures(name)[GROUND_ID["fill"]].tobytes() for name in NAMES
    }
    tops = {name: drawing.metatile_pictures(name)[GROUND_ID["top"]].tobytes() for name in NAMES}
    backs = {name: scenery(look(name).scenery).tobytes() for name in NAMES}
    palettes = {name: tuple(drawing.palette_words(name)) for name in NAMES}
    for distinct in (pictures, tops, backs, palettes):
        assert len(set(distinct.values())) == len(NAMES)


def test_no_two_zones_have_ornaments_in_common():
    tall = {drawing.metatile_pictures(name)[METATILE_COUNT - 2].tobytes() for name in NAMES}
    assert len(tall) >= len(NAMES) - 2


def test_sprites_lie_where_the_engine_looks_for_them():
    defined = dict(re.findall(r"#define SPRITE_(\w+) (\d+)", SPRITES_H.read_text()))
    at = 0
    first: dict[str, int] = {}
    for sprite in sprite_frames():
        height, width = sprite.image.shape
        assert height % 8 == width % 8 == 0
        first.setdefault(sprite.name, at)
        at += height * width // 64
    assert at == int(defined["TILE_COUNT"]) <= 480
    same = set(first) - {"hero", "hud"}
    assert len(same) == 22
    assert {name: first[name] for name in same} == {n: int(defined[n.upper()]) for n in same}


def test_sprites_have_only_colours_of_their_line():
    assert len(HERO_COLOURS) == len(OBJECT_COLOURS) == 16
    assert all(sprite.image.max() < 16 for sprite in sprite_frames())


def test_solid_columns_of_sprites_repeat_without_a_seam():
    for sprite in sprite_frames():
        if sprite.name in ("gate", "breakable", "piston_shaft"):
            assert (sprite.image[0] > 0).any()
            assert (sprite.image[-1] > 0).any()


def test_logo_fits_its_place():
    tiles, rows = drawing.logo_art()
    assert len(tiles.words) <= 280
    assert (len(rows), len(rows[0])) == (10, 28)
    assert {word >> 13 & 3 for row in rows for word in row} == {0}


def test_doubling_keeps_straight_edges_and_rounds_corners():
    from cartridge.levels.art.logo import doubled

    square = np.zeros((6, 6), np.bool_)
    square[1:5, 1:5] = True
    large = doubled(square)
    assert large.shape == (12, 12)
    assert large[4:8, 2].all()
    assert not large[2, 2]


@pytest.mark.parametrize("name", sorted({style.texture for style in LOOKS.values()}))
def test_pattern_uses_the_soil_colours_only(name):
    image = patterns.texture(name)
    assert image.shape == (32, 32)
    assert set(np.unique(image)) <= {2, 3, 4, 5}
    assert len(np.unique(image)) >= 3


@pytest.mark.parametrize("name", sorted({style.cover for style in LOOKS.values()}))
def test_cover_begins_with_an_edge_and_reaches_every_column(name):
    image = covers.cover(name)
    assert image.shape == (16, 32)
    assert (image[0] == 1).all()
    assert (image[1] > 1).any()
    assert (image[15] == 0).all()


def test_loop_is_a_ring_around_what_the_hero_follows():
    picture = parts.loop()
    assert picture.shape == (112, 112)
    assert picture[8:112, 56].nonzero()[0].tolist() == list(range(8))
    assert (picture[:8] == 0).all()
    inside = canvas.ellipse_mask(picture, parts.LOOP_CENTRE, (47, 47))
    assert (picture[inside] == 0).all()


def test_water_lets_half_of_what_lies_behind_through():
    body = parts.water()["water"]
    assert 0.45 <= np.mean(body == 0) <= 0.55


def test_water_and_loops_stop_nobody():
    shapes = metatile_shapes()
    names = [name for name in PART_ID if name.startswith(("water", "loop"))]
    assert len(names) == 3 + 49
    assert all(shapes[PART_ID[name]] is Shape.EMPTY for name in names)


def test_only_the_surface_of_the_water_lies_over_the_hero():
    metatiles = drawing.zone_art("TideGrotto").metatiles
    over = {i for i, words in enumerate(metatiles) if words[0] & drawing.PRIORITY}
    assert over == {PART_ID["water_l"], PART_ID["water_r"]}


def test_painted_water_fills_what_is_empty_below_the_surface():
    act = next(act for act in all_acts() if act.water_y < 512)
    surface, painted = act.water_y // CELL, paint(act)
    waters = {PART_ID["water"], PART_ID["water_l"], PART_ID["water_r"]}
    for column, cells in zip(painted, act.columns, strict=True):
        assert waters.isdisjoint(column[:surface])
        for number, cell in zip(column[surface:], cells[surface:], strict=True):
            assert (number in waters) == (cell is Cell.EMPTY)


def test_ornaments_hide_no_object():
    kinds = (SpawnKind.CHECKPOINT, SpawnKind.SWITCH, SpawnKind.SPRING_FORWARD, SpawnKind.PISTON)
    first = PART_ID["loop_66"] + 1
    seen: list[Spawn] = []
    for act in all_acts()[::6]:
        painted = paint(act)
        for spawn in act.spawns:
            if spawn.kind in kinds:
                seen.append(spawn)
                assert painted[spawn.x // CELL][spawn.y // CELL - 1] < first
    assert len(seen) >= 5
