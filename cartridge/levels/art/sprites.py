"""All sprites in the order of src/sprites.h."""

from collections.abc import Callable
from typing import NamedTuple

from cartridge.levels.art import machines, objects
from cartridge.levels.art.canvas import Image
from cartridge.levels.art.hero import falling, hero_frames
from cartridge.levels.art.hud import glyphs, hud_frames, plate

HERO, OBJECTS = 0, 1
"""Palette lines."""


class Sprite(NamedTuple):
    """A picture, whole tiles wide and high. Frames of the same object share its name."""

    name: str
    image: Image
    line: int
    """The palette line of its colours."""


def one(draw: Callable[[], Image]) -> Sprite:
    """The only frame of an object, with the name of the function that draws it."""
    return Sprite(draw.__name__, draw(), OBJECTS)


def both(draw: Callable[[bool], Image]) -> list[Sprite]:
    """The two frames of an object, which its function draws for False and True."""
    return [Sprite(draw.__name__, draw(second), OBJECTS) for second in (False, True)]


def sprite_frames() -> list[Sprite]:
    """All sprites; src/sprites.h has the first tile of each."""
    return [
        *(Sprite("hero", image, HERO) for image in hero_frames()),
        *both(objects.walker),
        *both(objects.hopper),
        *both(objects.spring),
        *both(objects.ring),
        *both(objects.post),
        one(objects.puff),
        *(Sprite("hud", image, HERO) for image in hud_frames()),
        *both(machines.spring_side),
        one(machines.platform),
        one(machines.crumble),
        one(machines.piston_tip),
        one(machines.piston_shaft),
        one(machines.piston_base),
        one(machines.breakable),
        one(machines.rubble),
        *both(machines.switch),
        one(machines.gate),
        *both(machines.checkpoint),
        *both(objects.shooter),
        one(objects.shot),
        *both(objects.jumper),
        *both(machines.booster),
        one(machines.wind),
        Sprite("hud", plate(glyphs()["-"]), HERO),
        Sprite("hero", falling(), HERO),
    ]
