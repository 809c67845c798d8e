"""The engine's C sources on this machine, in acts made for one thing each."""

import dataclasses

from cartridge.levels import check, oracle
from cartridge.levels.cells import CELL, Act, Cell, Spawn, SpawnKind
from cartridge.levels.generator import make_act
from cartridge.levels.simulator import Simulator
from cartridge.levels.terrain import Terrain
from cartridge.levels.zones import name_of

FLOOR = 20
GROUND = FLOOR * CELL
AIR, CHARGE = 1, 4
"""Bits of `flags`."""
CHARGED = [oracle.DOWN, oracle.DOWN, *(oracle.DASH, oracle.DOWN) * 4]


def act(terrain, *spawns):
    """An act of this ground, that begins in its sixth column."""
    terrain.ground(60)
    columns = tuple(tuple(column) for column in terrain.columns)
    return Act(0, 1, columns, spawns, (88, GROUND), (len(columns) - 30) * CELL, ())


def test_who_flies_into_a_steep_slope_lands_on_it():
    terrain = Terrain(floor=FLOOR)
    terrain.ground(30)
    terrain.up45(12)
    made = act(terrain)
    simulator = Simulator([made])
    landed = 0
    for run in range(14):
        simulator.start(name_of(made))
        simulator.play([*CHARGED, *[oracle.RIGHT] * run])
        for _ in range(5):
            status = simulator.play([oracle.JUMP])[0]
            rise = min(max(status.x - 30 * CELL, 0), 12 * CELL)
            assert status.y <= GROUND - rise + 1, f"in the rock at x = {status.x}"
            landed += 0 < rise < 12 * CELL and not status.flags & AIR
    assert landed


def test_who_charges_on_a_platform_that_crumbles_falls_without_his_charge():
    terrain = Terrain(floor=FLOOR)
    terrain.ground(5)
    terrain.gap(20)
    made = act(terrain, Spawn(88, GROUND, SpawnKind.PLATFORM_CRUMBLE, 20))
    simulator = Simulator([made])
    simulator.start(name_of(made))
    flags = [simulator.play([action])[0].flags for action in CHARGED * 3]
    assert any(f & CHARGE for f in flags)
    assert any(f & AIR for f in flags)
    assert not any(f & AIR and f & CHARGE for f in flags)


def test_check_finds_a_ramp_that_ends_at_a_hole():
    made = make_act(0, 1)
    terrain = Terrain(floor=FLOOR)
    terrain.ground(20)
    terrain.up22(2)
    terrain.gap(4)
    ramp = dataclasses.replace(act(terrain), chunks=made.chunks)
    assert "column 23: a ramp without a wall on its high side" in check.problems(ramp)


def test_who_falls_against_the_end_of_a_ramp_is_not_put_onto_it():
    """A whole block ends the ramp, as every ramp of an act does."""
    terrain = Terrain(floor=FLOOR)
    terrain.ground(8)
    terrain.gap(4)
    hole = terrain.x
    terrain.columns += [[Cell.EMPTY] * FLOOR + [Cell.GROUND] * 12]
    terrain.down45(3)
    made = act(terrain)
    simulator = Simulator([made])
    simulator.start(name_of(made))
    places = [simulator.play([oracle.RIGHT])[0] for _ in range(40)]
    fell = [status for status in places if status.y > GROUND + 12]
    assert fell and all(status.x < hole * CELL for status in fell)
    assert places[-1].lost
