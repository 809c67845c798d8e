"""What is drawn, where the engine looks for it, and what the gallery and the film show of it."""

import dataclasses
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from cartridge.levels import drawing, film, gallery, preview
from cartridge.levels.art.sprites import sprite_frames
from cartridge.levels.cells import CELL, Act, Cell, Shape, Spawn, SpawnKind
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
    assert all(shapes[PART_ID[name]] is Shape.EMPTY for name in names)
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


def test_richest_act_and_window_hold_what_there_is_to_see():
    plain = act_with(Spawn(100, 384, SpawnKind.WALKER), Spawn(200, 384, SpawnKind.WALKER))
    rich = act_with(Spawn(100, 384, SpawnKind.WALKER), Spawn(200, 384, SpawnKind.LOOP), number=2)
    other_zone = dataclasses.replace(rich, zone=1)
    assert gallery.richest([plain, rich, other_zone], "BrambleWood") is rich
    act = act_with(*(Spawn(3000 + 50 * i, 384, kind) for i, kind in enumerate(SpawnKind)))
    track = [at(40 + 2 * i, i) for i in range(2900)]
    start = film.best_window(track, act, frames=600)
    assert track[start].x < 3000
    assert track[start + 599].x > 3000 + 50 * 18


def test_pictures_are_written_as_drawn_in_a_grid_filled_up_with_black(tmp_path):
    pictures = [np.full((4, 6, 3), (i + 1, 50, 100), np.uint8) for i in range(3)]
    sheet = gallery.grid(pictures, columns=2)
    assert sheet.shape == (8, 12, 3) and not sheet[4:, 6:].any()
    np.testing.assert_array_equal(sheet[:4, 6:], pictures[1])
    np.testing.assert_array_equal(sheet[4:, :6], pictures[2])
    read = cv2.imread(str(preview.write_png(tmp_path / "new" / "a.png", sheet)))
    np.testing.assert_array_equal(read[:, :, ::-1], sheet)


def unasked():
    """Shots that nobody should want."""
    pytest.fail("played before the place was tried")
    yield


@pytest.mark.parametrize(
    ("write", "name", "words"),
    [
        (gallery.write_gallery, "a.jpg", "ends in .png"),
        (gallery.write_gallery, "file/a.png", "it is a file; give a folder"),
        (film.write_film, "a.txt", "ends in .gif or .mp4"),
        (film.write_film, "file/a.gif", "it is a file; give a folder"),
    ],
)
def test_an_unwritable_place_is_refused_before_anything_is_played(tmp_path, write, name, words):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"cannot write .*{words}"):
        write(unasked(), path=tmp_path / name)


def test_film_of_a_recording_is_its_last_seconds_as_gif(monkeypatch, tmp_path, capfd):
    (tmp_path / "a.bk2").write_text("none")
    with pytest.raises(UserError, match=r"not a \.bk2"):
        film.write_film(film.ending(tmp_path / "a.bk2"), path=tmp_path / "a.gif")
    assert capfd.readouterr().err == "" and not (tmp_path / "a.gif").exists()
    monkeypatch.setattr(film, "screens", lambda path: iter(range(2000)))
    assert [int(shot) for shot in film.ending(Path("a.bk2"))] == list(range(1280, 2000, 2))
    shots = (np.full((224, 320, 3), 8 * i, np.uint8) for i in range(12))
    path = film._write_gif(tmp_path / "a.gif", shots)
    assert path.read_bytes().startswith(b"GIF89a")
    moving = cv2.VideoCapture(str(path))
    assert sum(moving.grab() for _ in range(10)) == 6
    moving.release()
