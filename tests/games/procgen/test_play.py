import pytest

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import ACTIONS, NOTHING
from retro_agents.games.procgen.play import action_of, play
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.window import open_window


def test_keys_are_the_games_actions():
    assert {action_of(set(name.lower().split())) for name in ACTIONS} == set(range(15))
    assert action_of({"left", "right"}) == ACTIONS.index("LEFT")
    assert action_of({"left", "d"}) == ACTIONS.index("LEFT")
    assert action_of(set()) == NOTHING


def test_a_player_sees_the_game_and_leaves(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pytest.importorskip("pygame")
    pygame, window = open_window(128, 128)
    envs = make_vec("coinrun", num_envs=1, config=ProcgenConfig())
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_n))
    flips = []

    def flip():
        flips.append(window.get_at((60, 60)))
        if len(flips) == 3:
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE))

    monkeypatch.setattr(pygame.display, "flip", flip)
    play(envs, pygame, window)
    assert len(flips) == 3 and envs.resets[0] == 2
    assert len({tuple(window.get_at((x, y))) for x in range(0, 128, 8) for y in range(128)}) > 20
    pygame.quit()
