"""A window to play in."""

import os
import sys
from typing import Any

from retro_agents.ground.errors import UserError


def has_display() -> bool:
    """Whether a window can be expected to open."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def open_window(width: int, height: int) -> tuple[Any, Any]:
    """(pygame, its screen). Errors: UserError without a display."""
    advice = "play needs a screen; on a remote machine connect with `ssh -X`"
    if not has_display():
        raise UserError(f"no display: DISPLAY and WAYLAND_DISPLAY are not set; {advice}")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    try:
        pygame.display.init()
        return pygame, pygame.display.set_mode((width, height), pygame.RESIZABLE)
    except pygame.error as error:
        raise UserError(f"no display: {error}; {advice}") from None
