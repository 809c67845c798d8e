from contextlib import closing
from types import SimpleNamespace
from typing import cast

import imageio.v2 as imageio
import numpy as np

from rainbow.config import RainbowConfig
from retro_agents.contract.envs import VectorEnv
from retro_agents.games.families import make_for
from retro_agents.games.film import Filmed
from retro_agents.run.checkpoint import save_checkpoint
from retro_agents.run.config import from_dict

LEVELS = "BrambleWood.Act1,BrambleWood.Act2"


def filmed(folder, num_envs, *, part=slice(None), **settings):
    """Environments of a run in a folder, at the start of episodes of ten steps."""
    small = {"levels": LEVELS, "num_envs": num_envs, "episode_steps": 10, "run_dir": str(folder)}
    envs = make_for(from_dict(RainbowConfig, small | settings), part=part)
    envs.reset(seed=0)
    return closing(envs)


def play(envs, steps):
    for _ in range(steps):
        envs.step(np.ones(envs.num_envs, np.int64))


def test_a_resumed_run_films_whole_episodes_and_counts_on(tmp_path):
    counters = {"env_steps": 50}
    save_checkpoint(tmp_path / "checkpoints", agent="", config={}, counters=counters, tensors={})
    with filmed(tmp_path, 2, video_every=30, resume=True) as envs:
        for films in (0, 1):  # the episode that is under way, and the one that begins after 60
            play(envs, 10)
            assert len(list(tmp_path.glob("videos/*"))) == films


def test_first_rows_episodes_are_filmed_as_often_as_asked(tmp_path):
    with filmed(tmp_path, 1) as envs:
        play(envs, 11)
    assert not any(tmp_path.iterdir())
    with filmed(tmp_path, 2, video_every=30) as envs:
        assert not (tmp_path / "videos").exists()
        play(envs, 40)  # episodes of 20 steps of both rows: the first, third and fourth end
    names = sorted(path.name for path in (tmp_path / "videos").iterdir())
    assert [name[:4] for name in names] == ["0001", "0002"]
    assert all(name[5:] in ("BrambleWood.Act1.mp4", "BrambleWood.Act2.mp4") for name in names)
    with imageio.get_reader(tmp_path / "videos" / names[0]) as film:
        assert film.count_frames() == 10
        assert film.get_data(5).shape == (84 * 3, 84 * 3, 3)


def test_a_film_has_the_level_that_was_played_where_the_next_has_begun(tmp_path, capsys):
    image, over = np.zeros((1, 3, 16, 16), np.uint8), np.ones(1, bool)
    infos = {"final_obs": image, "episode_record": {"level": np.array(["coinrun:5"])}}
    played = (image, np.zeros(1), over, ~over, infos)
    spec = SimpleNamespace(channels=3)
    plain = SimpleNamespace(env_spec=spec, levels=["coinrun:6"], step_wait=lambda part: played)
    envs = Filmed(cast(VectorEnv, plain), tmp_path / "videos", every=10)
    for _ in range(12):  # every tenth step's episode is filmed
        envs.step_wait(None)
    (tmp_path / "videos/0001-5.mp4").rename(tmp_path / "videos/2nd-best.mp4")  # now the user's
    for _ in range(10):
        envs.step_wait(None)
    names = sorted(path.name for path in (tmp_path / "videos").iterdir())
    assert names == ["0002-5.mp4", "0003-5.mp4", "2nd-best.mp4"]
    envs.folder = tmp_path / "videos/0003-5.mp4"  # where no film can be written
    for _ in range(20):
        envs.step_wait(None)
    warned = capsys.readouterr().err.splitlines()
    assert len(warned) == 2
    assert all(line.startswith("warning: no film of this episode: cannot") for line in warned)


def test_where_others_play_too_their_steps_count(tmp_path):
    """Of four environments this process has two, so that 60 steps of all are 30 of its own."""
    with filmed(tmp_path, 4, video_every=60, part=slice(0, 2)) as envs:
        play(envs, 30)  # episodes of 20 steps: the first and the third are filmed
    assert len(list(tmp_path.glob("videos/*"))) == 2
