"""Films: what an agent saw, and the same episode as the original draws it."""

import sys
from contextlib import closing

import imageio.v2 as imageio
import numpy as np
import pytest

from retro_agents.contract.episodes import Random
from retro_agents.games.procgen import film
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.film import LARGE, Played, drawn_by
from retro_agents.games.procgen.games import ACTIONS
from retro_agents.ground.errors import UserError

SHORT = ProcgenConfig(num_levels=1, start_level=7, stick_probability=0.3)
ORIGINAL = """
import os
import numpy as np

class ProcgenGym3Env:
    def __init__(self, num, env_name, **options):
        self.step, self.options = 0, options
        print("old gym", options, file=__import__("sys").stderr)

    def get_info(self):
        return [{"rgb": np.full((512, 512, 3), self.options["start_level"] + self.step, np.uint8)}]

    def act(self, actions):
        self.step += 1

    def observe(self):
        return np.array([float(os.environ["REWARD"])]), None, np.array([self.step == 3])

    def close(self):
        pass
"""
"""Of a package with three steps, each with a reward."""


def episode(rewards):
    return Played(level=40, actions=[1, 2, 3], rewards=rewards, frames=[])


@pytest.fixture
def original(tmp_path, monkeypatch):
    """A Python with something like the original's package."""
    (tmp_path / "procgen.py").write_text(ORIGINAL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("REWARD", "0.5")
    return sys.executable


def test_an_episode_is_played_as_it_is_told():
    """Its level and actions, sticky ones too, play it again."""
    played = film.play(Random(len(ACTIONS), seed=3), "bigfish", SHORT, seed=5, way=None)
    assert played.level == 7 and len(played.frames) == len(played.actions) + 1
    again = ProcgenConfig(num_levels=1, start_level=7)
    with closing(film.make_vec("bigfish", num_envs=1, config=again, seed=99)) as envs:
        obs, _ = envs.reset()
        for frame, action, reward in zip(
            played.frames[:-1], played.actions, played.rewards, strict=True
        ):
            np.testing.assert_array_equal(obs[0].transpose(1, 2, 0), frame)
            obs, got, *_, infos = envs.step(np.array([action]))
            assert got[0] == reward
    np.testing.assert_array_equal(infos["final_obs"][0].transpose(1, 2, 0), played.frames[-1])


def test_the_original_draws_the_same_episode_alone(original, tmp_path, monkeypatch):
    pictures = list(drawn_by(original, "coinrun", SHORT, episode([0.5, 0.5, 0.5])))
    assert [picture.shape for picture in pictures] == [(LARGE, LARGE, 3)] * 3
    assert [int(picture[0, 0, 0]) for picture in pictures] == [40, 41, 42]
    monkeypatch.setattr(film, "play", lambda *_, **__: episode([0.5, 0.0, 0.5]))
    with pytest.raises(UserError, match="plays coinrun, level 40, differently"):
        film.film(
            Random(15, seed=0), "coinrun", SHORT, tmp_path / "a.mp4", seed=0, original=original
        )
    assert not list(tmp_path.glob("*a.mp4"))
    (tmp_path / "procgen.py").write_text("raise ImportError('no such library')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(UserError, match=r"cannot play the original: .*no such library"):
        list(drawn_by(sys.executable, "coinrun", SHORT, episode([0.0, 0.0, 0.0])))


def test_a_films_pixels_are_enlarged(tmp_path, monkeypatch):
    frame = np.full((64, 64, 3), 90, np.uint8)
    monkeypatch.setattr(film, "play", lambda *_, **__: Played(0, [1], [0.0], [frame, frame]))
    path = film.film(Random(15, seed=0), "coinrun", SHORT, tmp_path / "a.mp4", seed=0)
    with imageio.get_reader(path) as reader:
        assert reader.get_data(0).shape == (512, 512, 3) and reader.count_frames() == 2
