"""The acts: made the same every time, to the contract of src/level.h, and passable by the rules."""

import dataclasses
from collections import Counter
from random import Random

import numpy as np
import pytest

from cartridge.levels import check, emit, physics, splits
from cartridge.levels.art import canvas
from cartridge.levels.cells import CELL, DRY, HEIGHT, Cell, SpawnKind, shape_of
from cartridge.levels.chunks import PIECES, left
from cartridge.levels.chunks.land import wall
from cartridge.levels.colours import colours, word
from cartridge.levels.generator import SPECIALS, all_acts, make_act
from cartridge.levels.paint import metatile_shapes, paint
from cartridge.levels.terrain import LOWEST_FLOOR, Terrain
from cartridge.levels.tiles import HORIZONTAL_FLIP, TileSet, sprite_words
from cartridge.levels.zones import NO_WATER, ZONES, _mix, name_of
from retro_agents.games.retro.splits import SPLITS

ACTS = all_acts()
NAMES = splits.level_names()
FIRST = make_act(0, 1)


def test_committed_c_data_and_splits_are_what_the_generator_writes(tmp_path):
    paths = emit.emit(tmp_path / "c", split_folder=tmp_path / "splits")
    assert {path.name for path in paths} == {
        *("zones.c", "acts.c", "shapes.c", "sprites.c", "title.c"),
        *("bramble-train.csv", "bramble-test.csv"),
    }
    for path in paths:
        home = SPLITS if path.suffix == ".csv" else emit.GENERATED
        assert (home / path.name).read_bytes() == path.read_bytes(), f"{path.name}: run emit"


def test_act_is_a_function_of_zone_number_and_seed():
    assert make_act(1, 2) == make_act(1, 2)
    assert make_act(1, 2, seed=2) != make_act(1, 2)
    assert make_act(1, 2, layout=1) != make_act(1, 2)
    assert make_act(1, 3).columns != make_act(1, 2).columns
    act = make_act(0, 1)
    assert paint(dataclasses.replace(act, seed=2)) != paint(act)
    assert len({act.columns for act in ACTS}) == len(ACTS)
    openings = Counter(act.columns[: act.width // 2] for act in ACTS)
    assert max(openings.values()) == 1
    other = {act.columns for act in all_acts(seed=12345)}
    assert not other & {act.columns for act in ACTS}


def test_58_acts_in_14_zones_11_held_out_of_which_3_in_2_unseen_zones():
    assert [name_of(act) for act in ACTS] == NAMES
    assert (len(NAMES), len(ZONES), len(splits.held_out())) == (58, 14, 11)
    train = set(NAMES) - set(splits.held_out())
    seen = {name.split(".")[0] for name in train}
    unseen = [name for name in splits.held_out() if name.split(".")[0] not in seen]
    known = [name.split(".")[0] for name in splits.held_out() if name not in unseen]
    assert (len(train), len(seen), len(unseen)) == (47, 12, 3)
    assert len(set(known)) == len(known) == 8


def test_openings_are_the_zones_but_in_another_order_from_seed_to_seed():
    for index, zone in enumerate(ZONES):
        names = set(" ".join(zone.opening).split())
        openings = set()
        for seed in range(1, 7):
            opening = [name for name, _ in make_act(index, 1, seed).chunks[: len(zone.opening)]]
            assert set(opening) <= names
            openings.add(tuple(opening))
        assert len(openings) > 2


def test_acts_break_no_rule_of_any_seed_and_are_six_to_ten_thousand_pixels_wide():
    others = [make_act(zone, 1, seed) for seed in (7, 8) for zone in range(len(ZONES))]
    for act in ACTS + others:
        assert check.problems(act) == [], name_of(act)
    assert all(6000 <= act.width * CELL <= 10000 for act in ACTS)


def test_metatiles_collide_as_their_cells_do():
    shapes = metatile_shapes()
    for act in ACTS[::6]:
        for column, metatiles in zip(act.columns, paint(act), strict=True):
            assert [shapes[m] for m in metatiles] == [shape_of(cell) for cell in column]


def test_every_act_has_its_posts_and_its_obstacles_in_their_place():
    harmless = {"crack", "hill22", "valley22", "valley45", "hill45", "ascent", "descent", "rings"}
    for act in ACTS:
        kinds = Counter(spawn.kind for spawn in act.spawns)
        posts = [spawn.x for spawn in act.spawns if spawn.kind is SpawnKind.END_POST]
        assert posts == [act.end_x] and kinds[SpawnKind.CHECKPOINT] == 1, name_of(act)
        special = [column for name, column in act.chunks if PIECES[name].kind != "none"]
        assert len(special) == SPECIALS[act.number - 1], name_of(act)
        assert special[0] >= 0.43 * act.width, name_of(act)
        first = next(column for name, column in act.chunks if name not in {*harmless, "islands"})
        assert first * CELL <= act.start[0] + 0.4 * (act.end_x - act.start[0]), name_of(act)
    names = [name for name, _ in make_act(0, 6).chunks]
    assert sum(PIECES[name].kind != "none" for name in names) == SPECIALS[4]


def test_zones_mix_all_pieces_and_objects_differently():
    pieces = {name for act in ACTS for name, _ in act.chunks}
    kinds = {spawn.kind for act in ACTS for spawn in act.spawns}
    assert set(PIECES) - pieces <= {"flat"}
    assert kinds == set(SpawnKind)
    mixtures = [frozenset({**zone.easy, **zone.late, **zone.special}) for zone in ZONES]
    assert len(set(mixtures)) == len(ZONES)
    for zone in ZONES:
        named = {*zone.easy, *zone.late, *zone.special, *" ".join(zone.opening).split()}
        assert named <= set(PIECES), zone.name
    assert _mix("wall pit*2 crack*0.5") == {"wall": 1.0, "pit": 2.0, "crack": 0.5}
    for act in ACTS:
        assert (act.water_y < DRY) == (ZONES[act.zone].water_row < NO_WATER)


def test_every_gate_has_its_switch_to_the_left_and_cannot_be_jumped():
    for act in ACTS:
        for gate in (spawn for spawn in act.spawns if spawn.kind is SpawnKind.GATE):
            its = SpawnKind.SWITCH, gate.arg
            (switch,) = [spawn for spawn in act.spawns if (spawn.kind, spawn.arg) == its]
            assert 0 < gate.x - switch.x < 16 * CELL
    terrain = Terrain(floor=20)
    left.switch_cave(terrain, Random(0), 0.0)
    gate = next(spawn for spawn in terrain.spawns if spawn.kind is SpawnKind.GATE)
    column = terrain.columns[gate.x // CELL]
    top = next(row for row in range(HEIGHT) if column[row] is Cell.BLOCK)
    assert (20 - top) * CELL > physics.rise_of(physics.JUMP_SPEED) + 10


@pytest.mark.parametrize("name", sorted(PIECES))
def test_piece_draws_within_the_act_and_lets_ground_follow(name):
    piece = PIECES[name]
    for hard in (0.0, 0.5, 1.0):
        terrain = Terrain(floor=LOWEST_FLOOR - piece.down)
        terrain.ground(10)
        piece.draw(terrain, Random(1), hard)
        terrain.ground(1)
        assert all(len(column) == HEIGHT for column in terrain.columns)
        assert terrain.columns[-1][terrain.floor] is Cell.GROUND
        assert terrain.columns[-1][terrain.floor - 1] is Cell.EMPTY
        assert all(0 < spawn.x < terrain.x * CELL for spawn in terrain.spawns)


def broken(columns):
    """The first act with some columns replaced."""
    kept = [columns.get(i, column) for i, column in enumerate(FIRST.columns)]
    return dataclasses.replace(FIRST, columns=tuple(map(tuple, kept)), spawns=())


def walking(*, far):
    """The first act, whose walkers go so many columns to both sides."""
    spawns = [
        dataclasses.replace(spawn, arg=far) if spawn.kind is SpawnKind.WALKER else spawn
        for spawn in FIRST.spawns
    ]
    return dataclasses.replace(FIRST, spawns=tuple(spawns))


def crowded(*, times=1, **changes):
    """The first act with `times` more rings, changed so."""
    ring = next(s for s in FIRST.spawns if s.kind is SpawnKind.RING)
    more = (dataclasses.replace(ring, **changes),) * times
    return dataclasses.replace(FIRST, spawns=tuple(sorted(more + FIRST.spawns)))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (broken({120: [Cell.EMPTY] * 5 + [Cell.BLOCK] * (HEIGHT - 5)}), "a wall of"),
        (broken({column: [Cell.EMPTY] * HEIGHT for column in range(100, 130)}), "a hole of"),
        (crowded(kind=SpawnKind.WALKER, y=31 * CELL), "stands in rock"),
        (crowded(times=250), "objects, expected at most 255"),
        (crowded(times=17, kind=SpawnKind.WIND), "of WIND, expected at most 16"),
        (dataclasses.replace(FIRST, spawns=FIRST.spawns[::-1]), "spawns are not sorted"),
        (walking(far=12), "has no level ground"),
    ],
)
def test_check_finds_what_is_wrong(wrong, problem):
    assert any(problem in found for found in check.problems(wrong))


def test_emit_refuses_an_act_that_breaks_a_rule(monkeypatch):
    monkeypatch.setattr(emit, "problems", lambda act: ["a wall of 99 rows"])
    with pytest.raises(ValueError, match=r"BrambleWood\.Act1: a wall of 99 rows"):
        emit.checked(ACTS)


def test_terrain_returns_to_its_height_and_its_walls_can_be_jumped():
    terrain = Terrain(floor=20)
    terrain.up22(3)
    terrain.up45(2)
    assert terrain.floor == 15
    terrain.down45(2)
    terrain.down22(3)
    terrain.ground(1)
    assert (terrain.floor, terrain.x) == (20, 17)
    assert terrain.columns[-1][19:21] == [Cell.EMPTY, Cell.GROUND]
    terrain = Terrain(floor=20)
    wall(terrain, Random(0), 1.0)
    top = min(row for column in terrain.columns for row in range(HEIGHT) if column[row])
    assert 20 - top <= physics.wall_cells()


def test_what_the_rules_rest_on_is_hand_worked():
    assert physics.rise_of(6.5) == pytest.approx(6.5**2 / (2 * 56 / 256))
    assert physics.jump_cells(runway=160) == int(0.7 * 3.87 * 59.4 / 16) == 10
    assert word("731") == 0x026E
    assert colours("000 777") == ("000", "777")
    with pytest.raises(ValueError, match="'78'"):
        colours("000 78")
    sprite = canvas.blank(16, 16)
    sprite[8, 0] = 15
    assert sprite_words(sprite)[1][0] == 0xF0000000
    shapes = metatile_shapes()
    assert len(shapes) == 256
    assert set(shapes) == set(Cell) - {Cell.BLOCK}


def test_mirrored_tiles_are_kept_once():
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
