"""Playing by hand, as far as a machine without a screen can show."""

import signal
from contextlib import closing
from unittest.mock import Mock

import numpy as np
import pytest

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import parse_level, parse_levels
from retro_agents.games.retro.make import make_contest_env
from retro_agents.games.retro.recordings import read_recording
from retro_agents.ground.errors import UserError
from retro_agents.judging import play
from tests.runs import tell

LEVEL = parse_level("BrambleWood.Act1")
B, RIGHT = 0, 7
"""Numbers of the pad's buttons."""
SCENARIOS = {"native": "contest", "emulator": "scenario"}


@pytest.fixture
def window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame, screen = play.open_window(320, 224)
    yield pygame, screen
    pygame.quit()


@pytest.mark.parametrize("backend", ["native", "emulator"])
@pytest.mark.parametrize(("key", "wish"), [("escape", "quit"), ("r", "again"), ("n", "next")])
def test_keys_end_an_episode_and_the_window_shows_it(backend, window, key, wish):
    pygame, screen = window
    code = pygame.key.key_code(key)
    held = []
    with closing(make_contest_env(LEVEL, EnvConfig(backend=backend))) as env:
        step = env.step

        def steps(buttons):
            held.append(buttons)
            if len(held) == 6:
                pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=code))
            return step(buttons)

        env.step = steps
        assert play.play_episode(env, LEVEL, pygame, screen) == wish
    assert len(held) == 6
    assert pygame.surfarray.array3d(screen).any()


def recorded(monkeypatch, folder, wish, *words):
    """Run the command, whose tries are 70 frames to the right -> their levels. wish: takes the
    number of tries so far, and is what the player wishes then."""
    played = []

    def episode(env, level, *_):
        played.append(str(level))
        env.reset()
        for _ in range(70):
            env.step(np.eye(12, dtype=np.int8)[RIGHT])
        return wish(len(played))

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(play, "play_episode", episode)
    monkeypatch.setattr("sys.argv", ["play", *words, "--record", str(folder)])
    play.main()
    return played


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_two_levels_are_played_and_each_try_is_recorded(backend, monkeypatch, tmp_path):
    made = Mock(wraps=make_contest_env)
    monkeypatch.setattr(play, "make_contest_env", made)
    levels, scenario = "BrambleWood.Act1,BrambleWood.Act2", SCENARIOS[backend]
    words = levels, f"--backend={backend}", "--scenario", scenario
    wish = {1: "again", 2: "next", 3: "quit"}.get
    played = recorded(monkeypatch, tmp_path, wish, *words)
    first, second = (f"BrambleDash-Genesis-v0:{name}" for name in levels.split(","))
    assert played == [first, first, second]
    files = sorted(tmp_path.rglob("*.bk2"))
    assert [file.parent.name for file in files] == ["play-001", "play-001", "play-002"]
    assert [len(read_recording(file).pads) for file in files] == [71] * 3
    by_hand = {"frame_skip": 1, "stick_probability": 0.0, "episode_steps": 0}
    assert made.call_args.args[1] == EnvConfig(backend=backend, scenario=scenario, **by_hand)


@pytest.mark.parametrize("backend", ["native", "emulator"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_try_is_recorded_whose_terminal_is_closed(backend, number, monkeypatch, tmp_path):
    words = "BrambleWood.Act1", f"--backend={backend}"
    with pytest.raises(SystemExit, match=str(128 + number)):
        recorded(monkeypatch, tmp_path, lambda _: tell(number), *words)
    (file,) = tmp_path.rglob("*.bk2")
    assert len(read_recording(file).pads) == 71


def test_held_keys_are_buttons(window, monkeypatch):
    pygame, _ = window
    keys = {pygame.key.key_code(key): key in ("right", "x") for key in play.KEYS}
    monkeypatch.setattr(pygame.key, "get_pressed", lambda: keys)
    assert play.held(pygame).nonzero()[0].tolist() == [B, RIGHT]


def test_one_level_of_a_split_is_followed_by_the_next():
    levels, split = play.levels_from("SnowRidge.Act4", EnvConfig()), parse_levels("bramble-test")
    at = [level.state for level in split].index("SnowRidge.Act4")
    assert levels == split[at:] + split[:at] and len(levels) == 11


def test_levels_without_a_rom_do_not_follow_one_that_has(monkeypatch):
    def playable(levels, config):
        if levels[0].game != "SonicTheHedgehog-Genesis-v0":
            raise UserError("no ROM")

    monkeypatch.setattr(play, "backend_of", playable)
    named = "SonicTheHedgehog-Genesis-v0:GreenHillZone.Act1"
    found = play.levels_from(named, EnvConfig())
    assert len(found) > 1 and {level.game for level in found} == {"SonicTheHedgehog-Genesis-v0"}
    with pytest.raises(UserError, match="no ROM"):
        play.levels_from(f"{named},BrambleWood.Act1", EnvConfig())


def test_an_emulated_game_has_no_rival(monkeypatch, refused):
    monkeypatch.setattr(play, "is_native", lambda game: False)
    monkeypatch.setattr("sys.argv", ["play", "BrambleWood.Act1", "--against", "ppo2"])
    assert "--against: BrambleDash" in refused(play.main)


def test_a_result_is_shown_until_a_key_and_a_rival_plays_to_its_end(window, capsys, monkeypatch):
    pygame, screen = window
    blank = np.zeros((224, 320, 3), np.uint8)
    begun, frames = [], []

    class Env:
        reset = step = staticmethod(lambda *_: (blank, 9500.0, True, False, {}))

    class Rival:
        label, begin = "it", staticmethod(begun.append)

        def frame(self):
            frames.append(1)
            if len(frames) == 3:
                pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_r))
            return blank, 10.0 * len(frames), len(frames) > 1

    last = []
    monkeypatch.setattr(play, "show", lambda _, __, shot: last.append(shot))
    assert play.play_episode(Env(), LEVEL, pygame, screen, Rival()) == "again"
    result = ["You finished, 9,500 points in 0.0 s", "it: 30 points", "R: again   N: next level"]
    assert (last[-1][:, :320] == play.written(blank, *result)).all()
    assert begun == [LEVEL] and len(frames) == 3
    assert capsys.readouterr().out.count("finished, 9,500 points in 0.0 s") == 1


def test_a_gamepad_moves_and_jumps(window):
    pygame, _ = window

    class Pad:
        get_numbuttons = get_numaxes = staticmethod(lambda: 2)
        get_numhats = staticmethod(lambda: 0)
        get_button = staticmethod(lambda i: i == 1)
        get_axis = staticmethod(lambda i: 0.9 if i == 0 else 0.1)

    assert play.held(pygame, [Pad()]).nonzero()[0].tolist() == [B, RIGHT]


def test_an_agent_plays_a_step_for_every_four_frames_of_yours():
    rival = play.Rival("hold-right")
    rival.begin(LEVEL)
    shown = [rival.frame() for _ in range(40)]
    assert shown[0][0].shape == (224, 320, 3)
    changes = [i for i in range(1, 40) if shown[i][1] != shown[i - 1][1]]
    assert changes and {i % 4 for i in changes} == {0}
    rival.begin(parse_level("BrambleWood.Act2"))
    assert rival.frame()[1] <= shown[-1][1]


def test_a_rivals_name_that_is_no_utf_8_is_shown_with_escapes(monkeypatch):
    settings = EnvConfig(reward_scale=0.01)
    monkeypatch.setattr(play, "load_policy", lambda *_, **__: (None, settings))
    rival = play.Rival("runs/\udcff")
    assert rival.label == r"runs/\udcff"  # OpenCV crashes at the name itself
    assert rival.settings == settings.with_raw_rewards()
