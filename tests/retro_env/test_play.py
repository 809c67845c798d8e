"""Playing by hand, as far as a machine without a screen can show."""

import os
import subprocess
import sys

import pytest

from retro_env import play
from retro_env.emulator import Emulator


@pytest.fixture
def window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame, screen = play.open_window(320, 224)
    yield pygame, screen
    pygame.quit()


def test_without_a_display_play_says_so_in_one_line():
    names = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    env = {name: value for name, value in os.environ.items() if name not in names}
    argv = [sys.executable, "-m", "retro_env.play", "Airstriker-Genesis-v0:Level1"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no display: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("key", "wish"), [("escape", "quit"), ("r", "again"), ("n", "next")])
def test_keys_end_an_episode_and_the_window_shows_it(bramble, window, key, wish):
    level, config = bramble
    pygame, screen = window
    emulator = Emulator(level, scenario=config.scenario)
    code = pygame.key.key_code(key)
    ticks = iter(range(10))

    def frame(mask):
        if next(ticks) == 5:
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=code))
        return run(mask)

    run, emulator.frame = emulator.frame, frame
    assert play.play_episode(emulator, pygame, screen) == wish
    assert len(emulator.masks) == 6
    assert pygame.surfarray.array3d(screen).any()
    emulator.close()


def test_held_keys_are_buttons(window):
    pygame, _ = window

    class Keyboard:
        def __getitem__(self, code):
            return code in (pygame.K_RIGHT, pygame.K_x)

    class Pygame:
        class key:  # noqa: N801 (pygame's name)
            get_pressed = Keyboard
            key_code = staticmethod(pygame.key.key_code)

    right, b = 128, 1
    assert play.pressed_mask(Pygame) == right | b


@pytest.mark.parametrize("scale", ["0", "-1"])
def test_a_window_of_no_size_is_refused(scale, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["play", "LEVEL", f"--scale={scale}"])
    with pytest.raises(SystemExit) as stop:
        play.main()
    assert stop.value.code == 2 and "--scale must be 1 or more" in capsys.readouterr().err
