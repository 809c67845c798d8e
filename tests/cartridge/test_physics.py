"""How the hero moves: speeds in pixels / 256 a frame, on terrain found in the acts."""

from dataclasses import dataclass

import pytest

from cartridge import build_states
from cartridge.levels.cells import CELL, DRY, Cell, SpawnKind
from cartridge.levels.generator import all_acts
from retro_agents.games.retro.config import SEVEN

PLAIN = {
    number: act
    for number, act in enumerate(all_acts(), start=1)
    if act.water_y == DRY and not any(s.kind is SpawnKind.WIND for s in act.spawns)
}
"""Acts without water and wind, by their number over all zones."""
AIR, BALL, CHARGE, CROUCH, HURT, LEFT = 1, 2, 4, 8, 16, 32
"""Bits of the RAM variable `flags`."""
PRESS = ((4, ("DOWN", "B")), (4, ("DOWN",)))


@dataclass(frozen=True)
class Place:
    """A column of an act: number from 1, x in pixels."""

    act: int
    x: int


@pytest.fixture(scope="module")
def env():
    game = build_states.boot()
    yield game
    game.close()


def play(env, place, *script):
    """The infos of every frame of a script of (frames, buttons), begun at a place."""
    build_states.start_act(env, place.act, x=place.x)
    return [build_states.step(env, *held) for frames, held in script for _ in range(frames)]


def surface(act, column):
    """Row and kind of the cell that the lowest ground ends with; row -1 over a pit."""
    cells = act.columns[column]
    row = max((r for r, cell in enumerate(cells) if cell is not Cell.EMPTY), default=-1)
    while row > 0 and cells[row - 1] is not Cell.EMPTY:
        row -= 1
    return row, cells[row] if row >= 0 else Cell.EMPTY


def longest(*kinds, level=False):
    """The longest stretch whose surface is of these kinds: where it begins, and its columns."""
    best, place = 0, Place(1, 0)
    for number, act in PLAIN.items():
        first = 0
        for column in range(act.width):
            row, kind = surface(act, column)
            if kind not in kinds or (level and row != surface(act, first)[0]):
                first = column + 1 if kind not in kinds else column
            elif column - first + 1 > best and free(act, first, column):
                best, place = column - first + 1, Place(number, first * CELL)
    return place, best


def free(act, first, last):
    """Whether nothing but rings lies on these columns."""
    objects = [s for s in act.spawns if s.kind not in (SpawnKind.RING, SpawnKind.END_POST)]
    return not any(first - 5 <= s.x // CELL <= last + 5 for s in objects) and (
        last * CELL < act.end_x
    )


FLAT, FLAT_COLUMNS = longest(Cell.GROUND, level=True)
FLAT = Place(FLAT.act, FLAT.x + 2 * CELL)


def test_the_seven_actions_do_seven_things(env):
    ends = set()
    for action in SEVEN:
        last = play(env, FLAT, (30, ("RIGHT",)), (60, ()), (24, action.split()))[-1]
        ends.add((last["x"], last["y"], last["speed_x"], last["flags"]))
    assert len(ends) == len(SEVEN) == 7


def test_running_gains_12_a_frame_up_to_6_pixels_and_slows(env):
    assert FLAT_COLUMNS >= 34, "the acts have no flat stretch that is long enough"
    speeds = [i["speed_x"] for i in play(env, FLAT, (140, ("RIGHT",)))]
    assert speeds[:3] == [12, 24, 36]
    assert max(speeds) == speeds[-1] == 6 * 256
    coast = [i["speed_x"] for i in play(env, FLAT, (40, ("RIGHT",)), (3, ()))]
    turn = [i["speed_x"] for i in play(env, FLAT, (40, ("RIGHT",)), (3, ("LEFT",)))]
    assert coast[-1] == coast[39] - 36
    assert turn[-1] == turn[39] - 384


@pytest.mark.parametrize("button", ["A", "B", "C"])
def test_longer_presses_jump_higher(env, button):
    heights = []
    for held in (2, 8, 40):
        infos = play(env, FLAT, (2, ()), (held, (button,)), (60 - held, ()))
        heights.append(infos[0]["y"] - min(i["y"] for i in infos))
        assert infos[-1]["y"] == infos[0]["y"] and not infos[-1]["flags"] & AIR
    assert heights[0] < heights[1] < heights[2]
    assert 85 <= heights[2] <= 100 and heights[0] <= 60


def test_down_crouches_at_rest_and_rolls_at_speed(env):
    crouched = play(env, FLAT, (8, ("DOWN",)))[-1]
    rolled = play(env, FLAT, (60, ("RIGHT",)), (8, ("DOWN",)))
    assert crouched["flags"] == CROUCH and crouched["speed_x"] == 0
    assert rolled[-1]["flags"] == BALL
    assert rolled[59]["speed_x"] - 8 * 6 <= rolled[-1]["speed_x"] < rolled[59]["speed_x"]


def test_spin_dash_starts_fast_and_charging_adds_speed(env):
    once = play(env, FLAT, *PRESS, (2, ("RIGHT",)))
    often = play(env, FLAT, *PRESS * 4, (2, ("RIGHT",)))
    left = play(env, FLAT, (1, ("LEFT",)), (4, ()), *PRESS, (2, ()))
    assert once[4]["flags"] & CHARGE and once[4]["speed_x"] == 0
    assert 1500 <= once[-1]["speed_x"] <= 6 * 256
    assert 2500 <= often[-1]["speed_x"] <= 12 * 256
    assert left[-1]["speed_x"] <= -1500


def test_slopes_speed_up_slow_down_and_slide(env):
    up, rows = longest(Cell.UP22_LOW, Cell.UP22_HIGH)
    gentle, _ = longest(Cell.DOWN22_LOW, Cell.DOWN22_HIGH)
    assert rows >= 4
    speeds = {}
    for name, place in (("flat", FLAT), ("up", up), ("down", gentle)):
        speeds[name] = play(env, Place(place.act, place.x + 8), (24, ("RIGHT",)))[-1]["speed_x"]
    assert 0 < speeds["up"] < speeds["flat"] < speeds["down"]
    steep, _ = longest(Cell.DOWN45)
    place = Place(steep.act, steep.x - 8)
    run = play(env, place, (22, ("RIGHT",)), (10, ("RIGHT",)))
    roll = play(env, place, (22, ("RIGHT",)), (10, ("RIGHT", "DOWN")))
    assert roll[-1]["flags"] & BALL
    assert roll[-1]["speed_x"] > run[-1]["speed_x"] > 0
    slid = play(env, Place(steep.act, steep.x + 8), (20, ()))[-1]
    held = play(env, Place(gentle.act, gentle.x + 8), (20, ()))[-1]
    assert slid["speed_x"] > 0 and slid["x"] > steep.x + 8
    assert held["speed_x"] == 0 and held["x"] == gentle.x + 8


def test_feet_stay_on_the_slope_at_every_speed(env):
    for kinds in ((Cell.UP22_LOW, Cell.UP22_HIGH), (Cell.DOWN22_LOW, Cell.DOWN22_HIGH)):
        place, columns = longest(*kinds)
        sign = 1 if Cell.DOWN22_LOW in kinds else -1
        infos = play(env, Place(place.act, place.x - 24), *PRESS * 4, (30, ("RIGHT",)))
        on_slope = [i for i in infos if place.x <= i["x"] < place.x + CELL * columns]
        assert len(on_slope) >= 3
        first = on_slope[0]
        for info in on_slope:
            assert not info["flags"] & AIR
            rise = sign * (info["x"] // 2 - first["x"] // 2)
            assert abs(info["y"] - first["y"] - rise) <= 1


def test_spikes_kill_from_above_and_walls_stop_even_a_full_dash(env):
    act, column = next(
        (n, c)
        for n, act in PLAIN.items()
        for c in range(act.width)
        if surface(act, c)[1] is Cell.SPIKE
    )
    assert play(env, Place(act, column * CELL + 8), (10, ()))[-1]["lives"] == 2
    act, column = next(
        (n, c)
        for n, act in PLAIN.items()
        for c in range(8, act.width)
        if surface(act, c)[1] in (Cell.GROUND, Cell.BLOCK)
        and {surface(act, c - i) for i in range(1, 7)} == {(surface(act, c)[0] + 2, Cell.GROUND)}
    )
    infos = play(env, Place(act, (column - 4) * CELL), *PRESS * 4, (60, ("RIGHT",)))
    assert max(i["x"] for i in infos) == column * CELL - 9
    assert infos[-1]["speed_x"] < 128
