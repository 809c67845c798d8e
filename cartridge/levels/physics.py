"""The hero's reach, from the engine's constants (cartridge/src/player.c, which has them in
pixels / 256 at 60 Hz).

Chunks limit pits and walls by this module, so that every act can be finished by construction; the
oracle then proves it in the emulator."""

from cartridge.levels.cells import CELL

TOP_SPEED = 6.0
ACCELERATION = 12 / 256
GRAVITY = 56 / 256
JUMP_SPEED = 6.5
SPRING_SPEED = (9.0, 11.0, 13.0)
AIR_FRAMES = 2 * JUMP_SPEED / GRAVITY
"""Frames from take-off until the feet land at the same height."""
MARGIN = 0.7
"""The share of the hero's reach that an act may require."""


def rise_of(speed: float) -> float:
    """Height in pixels that an upward speed (px/frame) reaches against gravity."""
    return speed * speed / (2 * GRAVITY)


def running_speed(runway: float) -> float:
    """Speed after a runway, in pixels, from a standstill."""
    return min(TOP_SPEED, (2 * ACCELERATION * runway) ** 0.5)


def jump_cells(*, runway: float) -> int:
    """Cells that a full jump safely clears after a runway (px)."""
    return int(MARGIN * running_speed(runway) * AIR_FRAMES / CELL)


def wall_cells() -> int:
    """The highest wall, in cells, that a jump clears."""
    return int(rise_of(JUMP_SPEED) * 0.85 / CELL)


def spring_cells(strength: int) -> int:
    """The highest ledge, in cells, that a spring of this strength reaches."""
    return int(rise_of(SPRING_SPEED[strength]) * 0.85 / CELL)
