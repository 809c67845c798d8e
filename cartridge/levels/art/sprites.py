"""All sprites in the order of src/sprites.h."""

from typing import NamedTuple

from cartridge.levels.art.canvas import Image
from cartridge.levels.art.hero import falling, hero_frames
from cartridge.levels.art.hud import glyphs, hud_frames, plate
from cartridge.levels.art.machines import booster, machine_frames, wind
from cartridge.levels.art.objects import jumper, object_frames, shooter, shot

HERO, OBJECTS = 0, 1
"""Palette lines."""
OBJECT_NAMES = ("walker", "hopper", "spring", "ring", "post")
MACHINE_NAMES = (
    *("spring_side", "spring_side", "platform", "crumble", "piston_tip", "piston_shaft"),
    *("piston_base", "breakable", "rubble", "switch", "switch", "gate"),
    *("checkpoint", "checkpoint"),
)


class Sprite(NamedTuple):
    """A picture, whole tiles wide and high. Frames of the same object share its name."""

    name: str
    image: Image
    line: int
    """The palette line of its colours."""


def sprite_frames() -> list[Sprite]:
    """All sprites; src/sprites.h has the first tile of each."""
    objects = [name for name in OBJECT_NAMES for _ in range(2)] + ["puff"]
    late = [
        *zip(MACHINE_NAMES, machine_frames(), strict=True),
        ("shooter", shooter(ready=False)),
        ("shooter", shooter(ready=True)),
        ("shot", shot()),
        ("jumper", jumper(leaping=False)),
        ("jumper", jumper(leaping=True)),
        ("booster", booster(0)),
        ("booster", booster(1)),
        ("wind", wind()),
    ]
    return [
        *(Sprite("hero", image, HERO) for image in hero_frames()),
        *(Sprite(n, image, OBJECTS) for n, image in zip(objects, object_frames(), strict=True)),
        *(Sprite("hud", image, HERO) for image in hud_frames()),
        *(Sprite(name, image, OBJECTS) for name, image in late),
        Sprite("hud", plate(glyphs()["-"]), HERO),
        Sprite("hero", falling(), HERO),
    ]
