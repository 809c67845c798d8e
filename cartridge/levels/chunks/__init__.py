"""The pieces of acts: the function that draws each, and the skill that it needs.

A new piece is a function in one of these modules and an entry of PIECES."""

from dataclasses import dataclass
from typing import Literal

from cartridge.levels.chunks import foes, holes, land, left, speed, springs, wait
from cartridge.levels.chunks.sizes import Chunk

Kind = Literal["none", "left", "wait", "speed"]
"""The skill that a piece needs: going left, waiting, or more speed than running gives."""


@dataclass(frozen=True)
class Piece:
    """A chunk, its kind, and the rows by which the ground must be able to rise or sink for it."""

    draw: Chunk
    kind: Kind = "none"
    up: int = 0
    down: int = 0
    dry: bool = False
    """Whether it must not be in water."""


PIECES = {
    "flat": Piece(land.flat),
    "rings": Piece(land.rings),
    "islands": Piece(land.islands),
    "hill22": Piece(land.hill22, up=3),
    "valley22": Piece(land.valley22, down=3),
    "hill45": Piece(land.hill45, up=3),
    "valley45": Piece(land.valley45, down=3),
    "ascent": Piece(land.ascent, up=4),
    "descent": Piece(land.descent, down=4),
    "stairs_up": Piece(land.stairs_up, up=6),
    "stairs_down": Piece(land.stairs_down, down=4),
    "wall": Piece(land.wall),
    "trench": Piece(land.trench, down=4),
    "crack": Piece(holes.crack),
    "pit": Piece(holes.pit),
    "ramp_pit": Piece(holes.ramp_pit),
    "platforms": Piece(holes.platforms),
    "pillars": Piece(holes.pillars),
    "spikes": Piece(holes.spikes),
    "spike_trench": Piece(holes.spike_trench),
    "high_road": Piece(holes.high_road),
    "crumble_bridge": Piece(holes.crumble_bridge),
    "walkers": Piece(foes.walkers),
    "hoppers": Piece(foes.hoppers),
    "tunnel": Piece(foes.tunnel, up=1),
    "shooters": Piece(foes.shooters),
    "jumpers": Piece(foes.jumpers),
    "guarded_wall": Piece(foes.guarded_wall),
    "spring_wall": Piece(springs.spring_wall, up=7),
    "spring_pit": Piece(springs.spring_pit),
    "spring_road": Piece(springs.spring_road, down=3),
    "bounce_wall": Piece(springs.bounce_wall),
    "booster_pit": Piece(springs.booster_pit, dry=True),
    "booster_hill": Piece(springs.booster_hill, up=2, dry=True),
    "two_roads": Piece(springs.two_roads),
    "wind_pit": Piece(springs.wind_pit),
    "wind_stairs": Piece(springs.wind_stairs, up=4),
    "pistons": Piece(wait.pistons),
    "stepping_ferries": Piece(wait.stepping_ferries),
    "loop_booster": Piece(speed.loop_booster, dry=True),
    "loop_spring": Piece(speed.loop_spring, dry=True),
    "switch_cave": Piece(left.switch_cave, "left", down=5),
    "throw_cave": Piece(left.throw_cave, down=5),
    "switch_shelf": Piece(left.switch_shelf, "left", dry=True),
    "zigzag": Piece(left.zigzag, "left", up=1, dry=True),
    "spring_shelf": Piece(left.spring_shelf, "left", up=1, dry=True),
    "spring_cave": Piece(left.spring_cave, "left", up=7, down=5, dry=True),
    "piston_hall": Piece(wait.piston_hall, "wait"),
    "ferry": Piece(wait.ferry, "wait"),
    "lift": Piece(wait.lift, "wait", dry=True),
    "loop": Piece(speed.loop, "speed", dry=True),
    "loop_slope": Piece(speed.loop_slope, "speed", down=5, dry=True),
    "halfpipe": Piece(speed.halfpipe, "speed", down=7, dry=True),
    "steep_climb": Piece(speed.steep_climb, "speed", up=11, dry=True),
    "breakable_wall": Piece(speed.breakable_wall, "speed", dry=True),
    "breakable_tunnel": Piece(speed.breakable_tunnel, "speed", dry=True),
}
