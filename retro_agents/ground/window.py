"""A window for games."""

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError


def has_display() -> bool:
    """Returns whether a display is available."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def check_display(advice: str) -> None:
    """Raises UserError with `advice` if there is no display."""
    if not has_display():
        raise UserError(f"no display: DISPLAY and WAYLAND_DISPLAY are not set; {advice}")


def open_window(
    width: int,
    height: int,
    *,
    advice: str = "play needs a screen; on a remote machine connect with `ssh -X`",
) -> tuple[Any, Any]:
    """Opens a window. Returns (pygame, its screen). Raises UserError with `advice` if there is no
    display."""
    check_display(advice)
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    try:
        pygame.display.init()
        return pygame, pygame.display.set_mode((width, height), pygame.RESIZABLE)
    except pygame.error as error:
        raise UserError(f"no display: {error}; {advice}") from None


def show(pygame: Any, window: Any, picture: NDArray[np.uint8]) -> None:
    """Fill the window with a picture, uint8 [H, W, 3]."""
    surface = pygame.surfarray.make_surface(picture.swapaxes(0, 1))
    pygame.transform.scale(surface, window.get_size(), window)
    pygame.display.flip()


def pressed(pygame: Any) -> set[str]:
    """Names of the keys pressed since the last call. Closing the window counts as escape."""
    found = set()
    for event in pygame.event.get():  # all of them: a queue that is full takes no more
        if event.type == pygame.QUIT:
            found.add("escape")
        elif event.type == pygame.KEYDOWN:
            found.add(pygame.key.name(event.key))
    return found
