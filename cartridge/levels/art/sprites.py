"""All sprites in the order of src/sprites.h, each with the palette line it is drawn with."""

from cartridge.levels.art.canvas import Image
from cartridge.levels.art.hero import falling, hero_frames
from cartridge.levels.art.hud import glyphs, hud_frames
from cartridge.levels.art.machines import booster, machine_frames, wind
from cartridge.levels.art.objects import jumper, object_frames, shooter, shot

HERO, OBJECTS = 0, 1
"""Palette lines."""


def sprite_frames() -> list[tuple[Image, int]]:
    """Pictures, whole tiles wide and high, with their palette lines."""
    enemies = [shooter(ready=False), shooter(ready=True), shot()]
    enemies += [jumper(leaping=False), jumper(leaping=True)]
    late = [*machine_frames(), *enemies, booster(0), booster(1), wind()]
    return [
        *((image, HERO) for image in hero_frames()),
        *((image, OBJECTS) for image in object_frames()),
        *((image, HERO) for image in hud_frames()),
        *((image, OBJECTS) for image in late),
        (glyphs()["-"], HERO),
        (falling(), HERO),
    ]
