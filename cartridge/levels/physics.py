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
MARGIN = 0.7
"""The share of the hero's reach that an act may require."""


def rise_of(speed: float) -> float:
    """Height in pixels that an upward speed (px/frame) reaches against gravity."""
    return speed * speed / (2 * GRAVITY)


def air_frames(*, rise: float = 0.0) -> float:
    """Frames from take-off until the feet land at a height of rise pixels; 0 if they never do."""
    left = JUMP_SPEED * JUMP_SPEED - 2 * GRAVITY * rise
    return (JUMP_SPEED + left**0.5) / GRAVITY if left >= 0 else 0.0


def running_speed(runway: float) -> float:
    """Speed after a runway, in pixels, from a standstill."""
    return min(TOP_SPEED, (2 * ACCELERATION * runway) ** 0.5)


def jump_cells(*, runway: float, rise: float = 0.0) -> int:
    """Cells that a full jump safely clears after a runway (px), landing rise pixels higher."""
    return int(MARGIN * running_speed(runway) * air_frames(rise=rise) / CELL)


def wall_cells() -> int:
    """The highest wall, in cells, that a jump clears."""
    return int(rise_of(JUMP_SPEED) * 0.85 / CELL)


def spring_cells(strength: int) -> int:
    """The highest ledge, in cells, that a spring of this strength reaches."""
    return int(rise_of(SPRING_SPEED[strength]) * 0.85 / CELL)
