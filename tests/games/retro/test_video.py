"""Recordings play back to the very screens that were seen."""

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from retro_agents.games.retro import video
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import state_bytes
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import (
    make_contest_env,
    make_env,
    make_vec,
    restore_env,
    save_env,
)
from retro_agents.games.retro.playback import screens
from retro_agents.games.retro.recordings import read_recording
from retro_agents.games.retro.video import film_names, write_video
from retro_agents.ground.errors import UserError
from tests.games.retro.conftest import BRAMBLE
from tests.runs import files_up_to


def test_playing_a_recording_shows_the_screens_that_were_seen(playable, tmp_path):
    level, config = playable
    settings = replace(config, frame_skip=1, episode_steps=90)
    env = make_contest_env(level, settings, record_dir=tmp_path)
    random = np.random.default_rng(0)
    seen, ended = [env.reset(seed=1)[0]], False
    while not ended:
        buttons = random.integers(0, 2, 12, np.int8)
        buttons[3] = 0  # START would pause
        screen, _, terminated, truncated, _ = env.step(buttons)
        seen.append(screen)
        ended = terminated or truncated
    env.reset()
    env.close()
    recordings = sorted(tmp_path.glob("*.bk2"))
    assert [path.name[-10:] for path in recordings] == ["000000.bk2", "000001.bk2"]
    np.testing.assert_array_equal(list(screens(recordings[0])), seen)


def test_a_new_recorder_keeps_the_recordings_that_are_there(either, tmp_path):
    level, config = either
    for name in ("other-000003.bk2", "mine.bk2"):
        (tmp_path / name).touch()
    for _ in range(2):
        with closing(make_env(level, config, record_dir=tmp_path)) as env:
            env.reset()
            env.step(1)
    ends = sorted(path.stem.rpartition("-")[2] for path in tmp_path.glob("*.bk2"))
    assert ends == ["000003", "000004", "000005", "mine"]


@pytest.mark.parametrize(
    ("backend", "other"),
    [("native", BRAMBLE.state), ("native", "RustCavern.Act2"), ("emulator", BRAMBLE.state)],
)
def test_two_environments_in_one_folder_keep_each_others_recordings(backend, other, tmp_path):
    given = {"num_envs": 1, "config": EnvConfig(backend=backend), "record_dir": tmp_path}
    envs = [make_vec([Level(BRAMBLE.game, state)], **given) for state in (BRAMBLE.state, other)]
    for env in envs:
        env.reset()
        env.step(np.array([1]))
    for env in envs:
        env.close()
    assert len(list(tmp_path.glob("env-00/*.bk2"))) == 2


def test_each_recording_has_the_name_of_the_level_that_it_begins(either, tmp_path):
    level, config = either
    settings = replace(config, episode_steps=5)
    levels = [level, Level(level.game, "RustCavern.Act2")]
    envs = make_vec(levels, num_envs=1, config=settings, record_dir=tmp_path)
    envs.reset()
    for _ in range(18):
        envs.step(np.array([1]))
    envs.close()
    paths = sorted(tmp_path.glob("env-00/*.bk2"), key=lambda path: path.stem[-6:])
    assert len(paths) == 4
    for path in paths:
        state = path.stem.removeprefix(f"{level.game}-")[:-7]
        assert read_recording(path).state == state_bytes(level.game, state)


def test_what_was_played_after_a_state_was_saved_is_not_in_its_recording(either, tmp_path):
    level, config = either
    for name, more in (("straight", 0), ("back", 3)):
        settings = replace(config, episode_steps=10)
        envs = make_vec([level], num_envs=1, config=settings, record_dir=tmp_path / name)
        envs.reset()
        for _ in range(4):
            envs.step(np.array([1]))
        saved = envs.save_states()
        for _ in range(more):
            envs.step(np.array([0]))
        if more:
            envs.restore_states(saved)
        for _ in range(6):
            envs.step(np.array([1]))
        envs.close()
    found = [read_recording(path) for path in sorted(tmp_path.rglob("*-000000.bk2"))]
    np.testing.assert_array_equal(*(one.pads for one in found))


def test_an_environment_that_is_restored_after_more_episodes_keeps_them(either, tmp_path):
    level, config = either
    settings = replace(config, episode_steps=10)
    envs = make_vec([level], num_envs=1, config=settings, record_dir=tmp_path)
    envs.reset()
    for step in range(45):
        envs.step(np.array([1]))
        if step == 24:
            saved = envs.save_states()
    ended = {path: path.read_bytes() for path in tmp_path.glob("env-00/*-00000[01].bk2")}
    envs.restore_states(saved)
    envs.step(np.array([1]))
    envs.close()
    assert len(ended) == 2 and ended == {path: path.read_bytes() for path in ended}


def test_a_recording_is_whole_or_not_there_which_one_line_says(either, tmp_path):
    with closing(make_env(*either, record_dir=tmp_path)) as env:
        env.reset(seed=0)
        for _ in range(50):
            env.step(1)
        with files_up_to(1000), pytest.raises(UserError, match="cannot write"):
            env.reset()
    assert not any(tmp_path.iterdir())


def test_a_recording_that_cannot_be_written_as_a_worker_closes_is_one_line(
    bramble, tmp_path, capfd
):
    with closing(make_vec([bramble[0]], bramble[1], num_envs=1, record_dir=tmp_path)) as envs:
        envs.reset()
        envs.step(np.array([1]))
        shutil.rmtree(tmp_path / "env-00")
    (said,) = capfd.readouterr().err.splitlines()
    assert said.startswith(f"error: cannot write {tmp_path}")


def walk(env, steps):
    for _ in range(steps):
        *_, truncated, _ = env.step(1)
        if truncated:
            env.reset()


def test_a_restored_environment_writes_the_running_recording_anew(bramble, tmp_path):
    level, config = bramble
    settings = replace(config, episode_steps=20)
    with closing(make_env(level, settings, record_dir=tmp_path / "a")) as env:
        env.reset()
        walk(env, 30)
        saved = save_env(env)
    with closing(make_env(level, settings, record_dir=tmp_path / "b")) as again:
        restore_env(again, saved)
    (second,) = (tmp_path / "b").iterdir()
    assert second.name.endswith("000001.bk2")
    first = list(screens(tmp_path / "a" / second.name))
    np.testing.assert_array_equal(first, list(screens(second)))


def test_a_run_saved_without_recording_keeps_every_recording_once_restored_into_one(
    bramble, tmp_path
):
    level, config = bramble
    settings = replace(config, episode_steps=10)
    with closing(make_env(level, settings)) as env:
        env.reset()
        saved = save_env(env)
    with closing(make_env(level, settings, record_dir=tmp_path)) as again:
        restore_env(again, saved)
        walk(again, 15)
    recordings = sorted(tmp_path.iterdir())
    assert [path.name[-10:] for path in recordings] == ["000000.bk2", "000001.bk2"]


def test_a_film_that_is_broken_off_leaves_nothing(tmp_path):
    def frames():
        yield np.zeros((16, 32, 3), np.uint8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_video(tmp_path / "film.mp4", frames())
    assert not any(tmp_path.iterdir())


def test_a_film_that_is_there_is_kept(bramble, tmp_path, monkeypatch, capsys):
    level, config = bramble
    with closing(make_env(level, config, record_dir=tmp_path)) as env:
        env.reset()
        env.step(1)
    (recording,) = tmp_path.glob("*.bk2")
    film = recording.with_suffix(".mp4")
    film.write_bytes(b"mine")
    monkeypatch.setattr("sys.argv", ["film", str(recording)])
    video.main()
    assert film.read_bytes() == b"mine"
    assert capsys.readouterr().out.startswith(f"{film} is kept: remove it")


def test_a_folder_that_is_none_is_refused_in_one_line(tmp_path, bramble, closed):
    (tmp_path / "file").touch()
    env = closed(make_contest_env(*bramble, record_dir=tmp_path / "file"))
    with pytest.raises(UserError, match=r"cannot write .*file"):
        env.reset()


def test_every_worker_records_apart_and_films_of_equal_name_are_told_apart(
    either, tmp_path, monkeypatch
):
    envs = make_vec([either[0]], num_envs=2, config=either[1], record_dir=tmp_path)
    envs.reset()
    envs.step(np.array([1, 1]))
    envs.close()
    recordings = sorted(tmp_path.glob("env-0?/*.bk2"))
    assert [path.parent.name for path in recordings] == ["env-00", "env-01"]
    words = [*map(str, recordings), "--out", str(tmp_path / "films"), "--scale", "1"]
    monkeypatch.setattr("sys.argv", ["video", *words])
    video.main()
    stem = recordings[0].stem
    expected = [f"env-0{i}-{stem}.mp4" for i in range(2)]
    assert sorted(path.name for path in (tmp_path / "films").iterdir()) == expected
    assert film_names([Path("/env-00/a.bk2"), Path("/env-01/b.bk2")]) == ["a.mp4", "b.mp4"]
    deep = [Path("/1/env/a.bk2"), Path("/2/env/a.bk2"), Path("/a.bk2")]
    assert film_names(deep) == ["1-env-a.mp4", "2-env-a.mp4", "a.mp4"]
