"""What is drawn, where the engine looks for it, and what the gallery shows of it."""

import dataclasses
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from cartridge.levels import drawing, gallery, preview
from cartridge.levels.art.sprites import sprite_frames
from cartridge.levels.cells import CELL, Act, Cell, Spawn, SpawnKind
from cartridge.levels.console import Status
from cartridge.levels.generator import all_acts
from cartridge.levels.looks import LOOKS, look
from cartridge.levels.paint import PART_ID, metatile_shapes, paint
from cartridge.levels.zones import ZONES
from retro_agents.ground.errors import UserError

SPRITES_H = Path(drawing.__file__).parent.parent / "src" / "sprites.h"
NOWHERE = Status(0, 384, 0, 6000, 0, 0, 0, 0, 0, 3, finished=False, score=0.0, switches=0)


def test_every_zone_has_a_look_and_a_zone_without_one_is_a_clear_error():
    assert set(LOOKS) == {zone.name for zone in ZONES}
    with pytest.raises(UserError, match="'Nowhere' has no look"):
        look("Nowhere")


def test_sprites_lie_where_the_engine_looks_for_them():
    defined = dict(re.findall(r"#define SPRITE_(\w+) (\d+)", SPRITES_H.read_text()))
    at, first = 0, {}
    for sprite in sprite_frames():
        height, width = sprite.image.shape
        assert height % 8 == width % 8 == 0
        first.setdefault(sprite.name, at)
        at += height * width // 64
    assert at == int(defined["TILE_COUNT"]) <= 480
    same = set(first) - {"hero", "hud"}
    assert len(same) == 22
    assert {name: first[name] for name in same} == {n: int(defined[n.upper()]) for n in same}


def test_water_stops_nobody_and_lies_over_the_hero_at_its_surface_alone():
    shapes = metatile_shapes()
    names = [name for name in PART_ID if name.startswith(("water", "loop"))]
    assert len(names) == 3 + 49
    assert all(shapes[PART_ID[name]] is Cell.EMPTY for name in names)
    metatiles = drawing.zone_art("TideGrotto").metatiles
    over = {i for i, words in enumerate(metatiles) if words[0] & drawing.PRIORITY}
    assert over == {PART_ID["water_l"], PART_ID["water_r"]}
    act = next(act for act in all_acts() if act.water_y < 512)
    surface, painted = act.water_y // CELL, paint(act)
    waters = {PART_ID["water"], PART_ID["water_l"], PART_ID["water_r"]}
    for column, cells in zip(painted, act.columns, strict=True):
        assert waters.isdisjoint(column[:surface])
        for number, cell in zip(column[surface:], cells[surface:], strict=True):
            assert (number in waters) == (cell is Cell.EMPTY)


def test_ornaments_hide_no_object():
    kinds = (SpawnKind.CHECKPOINT, SpawnKind.SWITCH, SpawnKind.SPRING_FORWARD, SpawnKind.PISTON)
    first, seen = PART_ID["loop_66"] + 1, 0
    for act in all_acts()[::6]:
        painted = paint(act)
        for spawn in act.spawns:
            if spawn.kind in kinds:
                seen += 1
                assert painted[spawn.x // CELL][spawn.y // CELL - 1] < first
    assert seen >= 5


def act_with(*spawns, number=1):
    columns = ((Cell.EMPTY,) * 32,) * 400
    return Act(0, number, columns, spawns, start=(40, 384), end_x=6040, chunks=())


def at(x, frame=0):
    return NOWHERE._replace(x=x, progress=x - 40, frame=frame)


def test_rare_objects_make_a_moment_interesting_but_neither_rings_nor_the_ends_of_an_act():
    walkers = [Spawn(2000 + 20 * i, 384, SpawnKind.WALKER) for i in range(4)]
    ends = Spawn(60, 384, SpawnKind.SWITCH), Spawn(5990, 384, SpawnKind.END_POST)
    ring = Spawn(3000, 384, SpawnKind.RING)
    act = act_with(*walkers, Spawn(4000, 384, SpawnKind.GATE), ring, *ends)
    worth = gallery.rarity([act])
    assert (worth[SpawnKind.WALKER], worth[SpawnKind.GATE]) == (1 / 4, 1)
    for x, interest in ((3000, 0), (2000, 1 / 4), (4000, 1), (60, -1), (5990, -1)):
        assert gallery.interest(act, at(x), worth) == interest
    flooded = dataclasses.replace(act, water_y=320)
    assert gallery.interest(flooded, at(4000), worth) == 1 + gallery.WET


def test_richest_act_of_a_zone_has_most_kinds_of_objects():
    plain = act_with(Spawn(100, 384, SpawnKind.WALKER), Spawn(200, 384, SpawnKind.WALKER))
    rich = act_with(Spawn(100, 384, SpawnKind.WALKER), Spawn(200, 384, SpawnKind.LOOP), number=2)
    other_zone = dataclasses.replace(rich, zone=1)
    assert gallery.richest([plain, rich, other_zone], "BrambleWood") is rich


def test_pictures_are_written_as_drawn_in_a_grid_filled_up_with_black(tmp_path):
    pictures = [np.full((4, 6, 3), (i + 1, 50, 100), np.uint8) for i in range(3)]
    sheet = gallery.grid(pictures, columns=2)
    assert sheet.shape == (8, 12, 3) and not sheet[4:, 6:].any()
    np.testing.assert_array_equal(sheet[:4, 6:], pictures[1])
    np.testing.assert_array_equal(sheet[4:, :6], pictures[2])
    read = cv2.imread(str(preview.write_png(tmp_path / "new" / "a.png", sheet)))
    np.testing.assert_array_equal(read[:, :, ::-1], sheet)


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.jpg", "ends in .png"), ("file/a.png", "it is a file; give a folder")],
)
def test_an_unwritable_place_is_refused_before_anything_is_played(tmp_path, name, words):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"cannot write .*{words}"):
        gallery.write_gallery([], path=tmp_path / name)
