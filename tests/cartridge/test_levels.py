"""The acts: made the same every time, to the contract of src/level.h, and passable by the rules."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from cartridge.levels import check, emit, physics, splits
from cartridge.levels.art import canvas
from cartridge.levels.cells import CELL, HEIGHT, Act, Cell, Shape, SpawnKind, shape_of
from cartridge.levels.cells import surface_height as height_at
from cartridge.levels.chunks import wall
from cartridge.levels.colours import colours, word
from cartridge.levels.generator import all_acts, make_act
from cartridge.levels.paint import METATILE_COUNT, metatile_shapes, paint
from cartridge.levels.terrain import Terrain
from cartridge.levels.tiles import HORIZONTAL_FLIP, TileSet, sprite_words
from cartridge.levels.zones import ZONES

ACTS = all_acts()
NAMES = splits.level_names()


@pytest.fixture(params=ACTS, ids=NAMES)
def act(request: pytest.FixtureRequest) -> Act:
    made: Act = request.param
    return made


def test_committed_c_data_is_what_the_generator_writes() -> None:
    for name, text in emit.files().items():
        assert (emit.GENERATED / name).read_text() == text, f"{name}: run emit"


def test_emit_writes_c_data_and_splits(tmp_path: Path) -> None:
    paths = emit.emit(tmp_path / "c", split_folder=tmp_path / "splits")
    assert {path.name for path in paths} == {
        *("zones.c", "acts.c", "shapes.c", "sprites.c", "bramble-train.csv", "bramble-test.csv")
    }
    assert all(path.stat().st_size > 0 for path in paths)


def test_act_is_a_function_of_zone_number_and_seed() -> None:
    assert make_act(1, 2) == make_act(1, 2)
    assert make_act(1, 2, seed=2) != make_act(1, 2)
    assert make_act(1, 3).columns != make_act(1, 2).columns


def test_twelve_acts_in_three_zones_one_held_out_each() -> None:
    assert len(ACTS) == len(NAMES) == 12
    test, train = splits.held_out(), set(NAMES) - splits.held_out()
    assert (len(train), len(test)) == (9, 3)
    assert {name.split(".")[0] for name in test} == {zone.name for zone in ZONES}


def test_committed_splits_are_current() -> None:
    for name, text in splits.files().items():
        assert (splits.FOLDER / name).read_text() == text


def test_act_breaks_no_rule(act: Act) -> None:
    assert check.problems(act) == []


def test_act_of_other_seeds_breaks_no_rule() -> None:
    for seed in (7, 8, 9):
        for zone in range(len(ZONES)):
            assert check.problems(make_act(zone, 2, seed)) == []


def test_act_is_six_to_ten_thousand_pixels_wide(act: Act) -> None:
    assert 6000 <= act.width * CELL <= 10000
    assert act.width <= 65535 // CELL


def test_metatile_collides_as_its_cell_does(act: Act) -> None:
    shapes, painted = metatile_shapes(), paint(act)
    for column, metatiles in zip(act.columns, painted, strict=True):
        assert [shapes[m] for m in metatiles] == [shape_of(cell) for cell in column]


def test_act_has_one_end_post_at_its_end(act: Act) -> None:
    posts = [spawn for spawn in act.spawns if spawn.kind is SpawnKind.END_POST]
    assert [post.x for post in posts] == [act.end_x]


def test_something_stops_a_runner_in_the_first_two_fifths(act: Act) -> None:
    stops = {"pit", "walkers", "spikes", "wall", "hoppers", "stairs_up", "trench"}
    first = next(column for name, column in act.chunks if name in stops)
    assert first * CELL < act.start[0] + 0.4 * (act.end_x - act.start[0])


def test_check_finds_a_wall_that_is_too_high() -> None:
    made = make_act(0, 1)
    columns = [list(column) for column in made.columns]
    columns[200][10:] = [Cell.BLOCK] * (HEIGHT - 10)
    broken = dataclasses.replace(made, columns=tuple(tuple(c) for c in columns))
    assert any("a wall of" in problem for problem in check.problems(broken))


def test_check_finds_a_hole_that_is_too_wide() -> None:
    made = make_act(0, 1)
    columns = list(made.columns)
    columns[200:230] = [(Cell.EMPTY,) * HEIGHT] * 30
    broken = dataclasses.replace(made, columns=tuple(columns))
    assert any("a hole of" in problem for problem in check.problems(broken))


def test_check_finds_an_enemy_in_rock() -> None:
    made = make_act(0, 1)
    walker = dataclasses.replace(made.spawns[0], kind=SpawnKind.WALKER, y=31 * CELL)
    broken = dataclasses.replace(made, spawns=tuple(sorted((walker, *made.spawns[1:]))))
    assert any("stands in rock" in problem for problem in check.problems(broken))


def test_emit_refuses_an_act_that_breaks_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emit, "problems", lambda act: ["a wall of 99 rows"])
    with pytest.raises(ValueError, match=r"BrambleWood\.Act1: a wall of 99 rows"):
        emit.checked_acts()


@pytest.mark.parametrize("cells", [("UP22_LOW", "UP22_HIGH"), ("DOWN22_HIGH", "DOWN22_LOW")])
def test_gentle_slope_joins_without_a_step(cells: tuple[str, str]) -> None:
    left, right = (Cell[name] for name in cells)
    heights = [height_at(cell, x) for cell in (left, right) for x in range(CELL)]
    steps = {b - a for a, b in itertools.pairwise(heights)}
    assert steps <= ({0, 1} if "UP" in cells[0] else {0, -1})
    assert {heights[0], heights[-1]} == {1, 16}


def test_terrain_returns_to_its_height_after_a_hill() -> None:
    terrain = Terrain(floor=20)
    terrain.up22(3)
    terrain.up45(2)
    assert terrain.floor == 15
    terrain.down45(2)
    terrain.down22(3)
    terrain.ground(1)
    assert (terrain.floor, terrain.x) == (20, 17)
    assert terrain.columns[-1][19:21] == [Cell.EMPTY, Cell.GROUND]


def test_wall_of_the_hardest_act_can_be_jumped() -> None:
    from random import Random

    terrain = Terrain(floor=20)
    wall(terrain, Random(0), 1.0)
    top = min(row for column in terrain.columns for row in range(HEIGHT) if column[row])
    assert 20 - top <= physics.wall_cells()


def test_jump_height_is_speed_squared_over_twice_gravity() -> None:
    assert physics.rise_of(6.5) == pytest.approx(6.5**2 / (2 * 56 / 256))
    assert physics.air_frames(rise=97) == 0
    assert physics.air_frames() == pytest.approx(2 * 6.5 / (56 / 256))


@pytest.mark.parametrize("zone", ZONES, ids=[zone.name for zone in ZONES])
def test_zone_fits_video_memory(zone: "emit.Zone") -> None:
    art = emit.zone_art(zone)
    assert len(art.level.words) <= emit.LEVEL_LIMIT
    assert len(art.back.words) <= emit.BACK_LIMIT
    assert len(art.metatiles) == METATILE_COUNT <= 256
    assert [len(row) for row in art.back_map] == [64] * 32
    assert len(emit.palette_words(zone)) == 64


def test_colour_words_hold_three_bits_each() -> None:
    assert word("731") == 0x026E
    assert colours("000 777") == ("000", "777")
    with pytest.raises(ValueError, match="'78'"):
        colours("000 78")


def test_mirrored_tiles_are_kept_once() -> None:
    tile = canvas.blank(8, 8)
    tile[0, 0] = 5
    tiles = TileSet(first=10, limit=1)
    assert tiles.add(canvas.blank(8, 8), palette=0) == 0
    assert tiles.add(tile, palette=2) == 10 | 2 << 13
    assert tiles.add(np.ascontiguousarray(tile[:, ::-1]), palette=2) == (
        10 | 2 << 13 | HORIZONTAL_FLIP
    )
    tile[0, 0] = 6
    with pytest.raises(ValueError, match="more than 1 tiles"):
        tiles.add(tile, palette=2)


def test_sprite_tiles_run_down_then_right() -> None:
    sprite = canvas.blank(16, 16)
    sprite[8, 0] = 15
    assert sprite_words(sprite)[1][0] == 0xF0000000


def test_shapes_table_covers_every_metatile_number() -> None:
    shapes = metatile_shapes()
    assert len(shapes) == 256
    assert set(shapes) == set(Shape)
