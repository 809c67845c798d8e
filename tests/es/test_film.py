import dataclasses

from es.agent import ESAgent
from es.film import film
from retro_env.video import screens


def test_film_shows_one_episode_and_leaves_nothing_else(quick, tmp_path):
    agent = ESAgent.start(dataclasses.replace(quick, episode_steps=6))
    path = film(agent, "BrambleDash-Genesis-v0:BrambleWood.Act1", tmp_path, name="now")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["now.bk2", "now.mp4"]
    assert path.name == "now.mp4" and path.stat().st_size > 1000
    assert sum(1 for _ in screens(tmp_path / "now.bk2")) in (6 * 4, 6 * 4 + 1)
