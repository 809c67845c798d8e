"""What the objects do, each in an act made for it, compiled with the real engine."""

import dataclasses
import itertools
import shutil

import pytest

from cartridge import build_states
from cartridge.levels import emit, fresh
from cartridge.levels.cells import CELL, DRY, Act, Cell, Spawn, SpawnKind
from cartridge.levels.terrain import Terrain

AIR, BALL, HURT, WATER, LOOP = 1, 2, 16, 64, 128
"""Bits of the RAM variable `flags`."""
DASH = ((4, ("DOWN", "B")), (4, ("DOWN",))) * 4
JUMP_OVER = ((30, ("RIGHT",)), (30, ("RIGHT", "B")))
FLOOR, WIDTH, START, END = 20, 340, 200, 5000
GROUND = FLOOR * CELL


def put(kind, x, *args, y=GROUND):
    """An object; its kind in small letters."""
    return Spawn(x, y, SpawnKind[kind.upper()], *args)


def act(*spawns, hole=(0, 0), wall=None, water_y=DRY):
    """Level ground with objects. hole: first column and width; wall: column of a hanging one."""
    terrain = Terrain(floor=FLOOR)
    terrain.ground(hole[0])
    terrain.gap(hole[1])
    terrain.ground(WIDTH - sum(hole))
    if wall:
        terrain.box(Cell.BLOCK, wall, 0, height=14)
    columns = tuple(map(tuple, terrain.columns))
    objects = (*sorted(spawns), put("end_post", END))
    return Act(0, 1, columns, objects, (START, GROUND), END, (), water_y)


CROWD = ("ring", "walker", "piston", "shooter", "platform_x", "jumper", "hopper")
ACTS = {
    "walker": act(put("walker", 408, 3), put("walker", 908, 3), put("ring", 808)),
    "spring": act(put("spring_up", 408, 0), put("spring_up", 808, 2)),
    "springs": act(put("spring_forward", 408, 1), put("spring_back", 1208, 0)),
    "breakable": act(put("breakable", 488, 6), wall=30),
    "gate": act(put("gate", 488, 2, 6), put("gate", 888, 3, 6), put("switch", 104, 2)),
    "platform_x": act(put("platform_x", 640, 16, 30), hole=(30, 20)),
    "platform_y": act(put("platform_y", 504, 4, 30, 64, y=GROUND - 48)),
    "crumble": act(put("platform_crumble", 504, 8), hole=(30, 20)),
    "piston": act(put("piston", 408, 15, 0, 2)),
    "loop": act(put("booster", 408), put("loop", 808)),
    "water": act(water_y=GROUND - 160),
    "wind": act(put("wind", 400, 60, -16), put("wind", 2000, 60, 16)),
    "checkpoint": act(put("checkpoint", 600), hole=(60, 6)),
    "shooter": act(put("shooter", 488, 10)),
    "jumper": act(put("jumper", 488, 6)),
    "crowd": act(
        *(
            put(kind, 300 + 16 * place, 8, 40, 3, y=GROUND - 48 * (kind == "platform_x"))
            for place, kind in zip(range(200), itertools.cycle(CROWD), strict=False)
        )
    ),
}


@pytest.fixture(scope="module")
def env(console_compiler, tmp_path_factory):
    """The game at its title, compiled with these acts."""
    game = tmp_path_factory.mktemp("game") / "BrambleTest-Genesis-v0"
    shutil.copytree(build_states.FOLDER, game, ignore=shutil.ignore_patterns("*.state", "rom.*"))
    shutil.copytree(emit.GENERATED, game / "src")
    acts = [dataclasses.replace(act, number=n) for n, act in enumerate(ACTS.values(), start=1)]
    (game / "src" / "acts.c").write_text('#include "../level.h"\n' + emit.acts_c(acts))
    fresh._compile(game)
    booted = build_states.boot(game.name, integration=game.parent)
    yield booted
    booted.close()


def play(env, act, x, *script):
    """The infos of every frame of a script of (frames, buttons), begun at x in an act."""
    build_states.start_act(env, list(ACTS).index(act) + 1, x=x)
    return [build_states.step(env, *held) for frames, held in script for _ in range(frames)]


def swing(frame, reach, period):
    """A triangle wave between -reach and reach, beginning in the middle, upward."""
    way = frame % period * 4 * reach // period
    return way if way < reach else 2 * reach - way if way < 3 * reach else way - 4 * reach


def test_creatures_hurt_who_stands_and_die_of_a_ball(env):
    walked = play(env, "walker", 300, (120, ("RIGHT",)))
    rolled = play(env, "walker", 300, *DASH, (40, ("RIGHT",)))
    assert walked[-1]["lives"] == 2
    assert rolled[-1]["lives"] == 3 and rolled[-1]["x"] > 460 and rolled[-1]["score"] == 100
    stood = play(env, "jumper", 420, (240, ()))
    rolled = play(env, "jumper", 300, *DASH, (60, ("RIGHT",)))
    assert stood[-1]["lives"] == 2
    assert rolled[-1]["lives"] == 3 and rolled[-1]["score"] == 100
    stood = play(env, "shooter", 360, (150, ()))
    jumped = play(env, "shooter", 360, (108, ()), (30, ("B",)), (20, ()))
    dead = next(i["frame_counter"] for i in stood if i["lives"] == 2)
    assert 80 + 40 <= dead <= 80 + 50, "the shot leaves at 80 and flies 2.5 pixels a frame"
    assert jumped[-1]["lives"] == 3


def test_rings_are_collected_and_lost_instead_of_a_life(env):
    infos = play(env, "walker", 750, (200, ("RIGHT",)))
    hurt = next(n for n, i in enumerate(infos) if i["flags"] & HURT)
    assert infos[hurt - 1]["rings"] == 1 and infos[hurt - 1]["score"] == 10
    assert infos[hurt]["rings"] == 0 and infos[hurt]["speed_x"] < 0
    assert infos[hurt]["lives"] == 3


def test_springs_throw_their_way(env):
    for x, rise in ((408, 185), (808, 386)):
        infos = play(env, "spring", x, (100, ()))
        assert GROUND - min(i["y"] for i in infos) == pytest.approx(rise, abs=10)
    infos = play(env, "springs", 300, (110, ("RIGHT",)))
    assert max(i["speed_x"] for i in infos) == 10 * 256
    assert not any(i["flags"] & AIR for i in infos)
    infos = play(env, "springs", 1100, (130, ("RIGHT",)))
    thrown = next(n for n, i in enumerate(infos) if i["speed_x"] < 0)
    assert infos[thrown]["speed_x"] == -8 * 256
    assert all(i["speed_x"] == -8 * 256 for i in infos[thrown : thrown + 15])
    assert infos[-1]["speed_x"] > 0, "after that, the buttons count again"


def test_breakable_wall_gives_way_to_a_fast_roll_alone(env):
    ran = play(env, "breakable", 300, (120, ("RIGHT",)))
    jumped = play(env, "breakable", 300, *JUMP_OVER * 2)
    assert max(i["x"] for i in ran) == max(i["x"] for i in jumped) == 480 - 9
    infos = play(env, "breakable", 400, *DASH, (40, ("RIGHT",)))
    assert infos[-1]["x"] > 520
    assert min(i["speed_x"] for i in infos[34:]) > 8 * 256
    assert infos[-1]["score"] == 50
    infos = play(env, "breakable", 424, (20, ("RIGHT",)), (60, ("RIGHT", "DOWN")))
    assert any(i["flags"] & BALL for i in infos)
    assert max(i["x"] for i in infos) == 480 - 9


def test_gate_opens_for_good_once_its_switch_is_touched(env):
    shut = play(env, "gate", 300, (100, ("RIGHT",)))
    left_first = play(env, "gate", 160, (40, ("LEFT",)), (260, ("RIGHT",)))
    assert max(i["x"] for i in shut) == 480 - 9 and shut[-1]["switches"] == 0
    assert left_first[-1]["switches"] == 1 << 2
    assert max(i["x"] for i in left_first) == 880 - 9, "the other gate has another id"


def test_platforms_carry_lift_and_crumble(env):
    infos = play(env, "platform_x", 470, (148, ()), (38, ("RIGHT",)), (4, ("LEFT",)), (235, ()))
    on = [i for i in infos[-200:] if i["y"] == GROUND and not i["flags"] & AIR]
    assert len(on) == 200
    away = {info["x"] - 640 - swing(info["frame_counter"], 128, 240) for info in on}
    assert len(away) == 1
    infos = play(env, "platform_y", 504, (10, ()), (30, ("B",)), (300, ()))
    heights = [i["y"] for i in infos[80:]]
    assert min(heights) < GROUND - 70 and not any(i["flags"] & AIR for i in infos[100:])
    assert max(abs(a - b) for a, b in itertools.pairwise(heights)) <= 2
    infos = play(env, "crumble", 470, (40, ("RIGHT",)), (20, ("LEFT",)), (200, ()))
    lost = next(n for n, i in enumerate(infos) if i["lives"] == 2)
    on = [n for n, i in enumerate(infos[:lost]) if i["x"] >= 480 and not i["flags"] & AIR]
    assert len(on) == 32
    touch = ((34, ("RIGHT",)), (18, ("LEFT",)), (60, ()))
    onto = ((34, ("RIGHT",)), (3, ("LEFT",)), (5, ()))
    soon = play(env, "crumble", 470, *touch, *onto)
    late = play(env, "crumble", 470, *touch, (220, ()), *onto)
    assert max(i["x"] for i in soon[:112]) > 480 > soon[111]["x"]
    assert soon[-1]["y"] > GROUND
    assert late[-1]["x"] > 490 and late[-1]["y"] == GROUND and not late[-1]["flags"] & AIR


def test_piston_hurts_only_in_the_second_half_of_its_period(env):
    waited = play(env, "piston", 408, (100, ()))
    passed = play(env, "piston", 385, (100, ("RIGHT",)))
    assert next(i["frame_counter"] for i in waited if i["lives"] == 2) in (60, 61, 62)
    assert passed[-1]["x"] > 440 and passed[-1]["lives"] == 3


def test_loop_takes_round_who_is_fast_alone(env):
    infos = play(env, "loop", 300, (200, ("RIGHT",)))
    assert max(i["speed_x"] for i in infos) >= 10 * 256
    around = [i for i in infos if i["flags"] & LOOP]
    assert min(i["y"] for i in around) < GROUND - 60
    assert infos[-1]["x"] > 900 and not infos[-1]["flags"] & LOOP
    infos = play(env, "loop", 500, (400, ("RIGHT",)))
    assert any(i["flags"] & LOOP for i in infos)
    assert max(i["x"] for i in infos) < 860
    assert any(i["speed_x"] < -256 for i in infos)
    infos = play(env, "loop", 640, *JUMP_OVER * 6)
    assert max(i["x"] for i in infos) <= 808 + 40


def test_water_is_slow_and_wind_drives_in_the_air(env):
    ran = play(env, "water", 300, (300, ("RIGHT",)))
    assert max(i["speed_x"] for i in ran) == 896
    assert all(i["flags"] & WATER for i in ran)
    jumped = play(env, "water", 300, (60, ("B",)), (60, ()))
    assert 125 <= GROUND - min(i["y"] for i in jumped) <= 145
    jump = ((4, ()), (30, ("B",)), (20, ()))
    against, along = play(env, "wind", 800, *jump), play(env, "wind", 2400, *jump)
    assert against[-1]["x"] < 760 and along[-1]["x"] > 2440
    assert all(i["x"] == 800 for i in play(env, "wind", 800, (60, ())))


def test_checkpoint_is_where_the_act_begins_again(env):
    infos = play(env, "checkpoint", 560, (340, ("RIGHT",)))
    dead = next(n for n, i in enumerate(infos) if i["lives"] == 2)
    again = next(i for i in infos[dead:] if i["mode"] == 1 and i["frame_counter"])
    assert 600 <= again["x"] <= 610


def test_a_crowd_of_objects_costs_no_frame(env):
    for x in range(400, 3400, 600):
        build_states.start_act(env, list(ACTS).index("crowd") + 1, x=x)
        for frame in range(60):
            env.data.set_value("rings", 1)
            info = build_states.step(env, "RIGHT", *(("B",) if frame % 30 < 10 else ()))
            assert info["lag"] == 0 and info["frame_counter"] == frame + 2
