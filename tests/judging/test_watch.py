import re
from unittest.mock import Mock

import pytest

from retro_agents.games.families import level_names
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.window import pressed
from retro_agents.judging import watch
from retro_agents.judging.watch import main


def test_a_window_shows_levels_in_turn_until_it_is_closed(monkeypatch, capsys):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    keys, flips = {4: "n", 9: "escape"}, []

    def flip():
        flips.append(pygame.surfarray.array3d(pygame.display.get_surface()).mean())
        if name := keys.get(len(flips)):
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.key.key_code(name)))

    monkeypatch.setattr(pygame.display, "flip", flip)
    player = REFERENCES["run-and-jump"](0), EnvConfig()
    monkeypatch.setattr(watch, "load_policy", lambda *_, **__: player)
    episodes = Mock(wraps=watch.play_episode)
    monkeypatch.setattr(watch, "play_episode", episodes)
    main(["ppo2", "--seed", "7", "--play", "best"])
    told = [(call.kwargs["seed"], call.kwargs["play"]) for call in episodes.call_args_list]
    assert told == [(7, "best"), (8, "best")]
    assert len(flips) == 9 and min(flips) > 0.0
    said = re.findall(r":(\S+): return", capsys.readouterr().out)
    assert said == [level.partition(":")[2] for level in level_names("bramble-test")[:2]]


def test_events_that_nobody_reads_do_not_fill_the_windows_queue(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.display.init()
    for kind in (pygame.MOUSEMOTION, pygame.KEYDOWN, pygame.QUIT):
        pygame.event.post(pygame.event.Event(kind, key=pygame.K_n))
    assert pressed(pygame) == {"n", "escape"}
    assert not pygame.event.get()
