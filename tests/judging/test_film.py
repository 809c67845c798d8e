from contextlib import closing
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env
from retro_agents.games.retro.references import REFERENCES
from retro_agents.judging.evaluate import play_level
from retro_agents.judging.film import (
    GREY,
    RED,
    Moment,
    Screen,
    end_of,
    film,
    keep_best,
    moments_of,
    picture,
    play_episode,
    values_of,
)
from retro_agents.judging.score import Episode
from tests.runs import in_python

LEVEL = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
NAMES = EnvConfig().spec().action_names


class Waiting:
    """Goes right for 20 steps, then ducks; its value of action k is k. Keeps the ways in which it
    was asked to play."""

    config: Any = None
    net: Any = None
    logits = recurrent = False
    device = "cpu"

    def __init__(self):
        self.steps, self.plays = 0, set()

    def act(self, obs, *, play=None, **_):
        self.plays.add(play)
        self.steps += 1
        return np.full(len(obs), 1 if self.steps <= 20 else 4)

    def scores(self, images):
        return torch.arange(7.0).repeat(len(images), 1)

    outputs = scores


def test_what_a_policy_with_a_memory_expects_is_not_shown():
    policy, obs = Waiting(), np.zeros((3, 84, 84), np.uint8)
    assert values_of(policy, obs) == list(range(7))
    policy.recurrent = True
    assert values_of(policy, obs) == []


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_an_episode_ends_where_nothing_is_gained_and_is_played_as_told(backend):
    settings = EnvConfig(backend=backend, backtracking=False, episode_steps=300)  # type: ignore[arg-type]
    said, seen = [], []
    with closing(make_env(LEVEL, settings)) as env:
        told = {"on_step": said.append, "on_moment": seen.append}
        cut = play_episode(one := Waiting(), env, seed=0, patience=30, play="draw", **told)
        whole = play_episode(other := Waiting(), env, seed=0)
    assert (one.plays, other.plays) == ({"draw"}, {None})
    assert (cut.complete, whole.complete) == (False, True)
    assert 20 < cut.l < 100 and whole.l == 300
    assert said == list(range(1, cut.l + 1))
    assert len(seen) == cut.l and seen[-1].total == pytest.approx(cut.r)
    assert max(moment.total for moment in seen) == pytest.approx(cut.progress * 9000, rel=0.01)
    assert seen[0].values == list(range(7)) and seen[0].action == 1
    assert seen[0].screen.unpacked().shape == (224, 320, 3)


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_every_episode_that_is_cut_leaves_one_recording(backend, tmp_path):
    settings = EnvConfig(backend=backend, episode_steps=300)  # type: ignore[arg-type]
    played, _ = play_level(Waiting(), LEVEL, settings, episodes=2, record_dir=tmp_path, patience=30)
    assert [episode.complete for episode in played] == [False, False]
    assert len([*tmp_path.glob("**/*.bk2")]) == 2


def test_a_recording_shows_what_was_played(tmp_path):
    (played,), seen = play_level(
        REFERENCES["random"](0), LEVEL, EnvConfig(episode_steps=60), episodes=1, record_dir=tmp_path
    )
    (recording,) = tmp_path.glob("**/*.bk2")
    again = moments_of(recording, seen)
    assert len(again) == 2 * len(seen) == 2 * played.l == 120
    assert again[-1].total == pytest.approx(played.r)
    assert all(one.screen == other.screen for one, other in zip(again[1::2], seen, strict=True))
    assert [one.action for one in again[::2]] == [one.action for one in seen]


@pytest.mark.parametrize(
    ("finished", "complete", "steps", "said"),
    [
        (True, True, 900, "FINISHED"),
        (False, False, 900, "GAVE UP"),
        (False, True, 4_499, "DIED"),
        (False, True, 4_500, "TIME IS UP"),
    ],
)
def test_a_film_says_how_its_episode_ended(finished, complete, steps, said):
    assert end_of(Episode("one", 1.0, steps, 0.5, finished, complete)) == said


def test_the_recording_of_the_best_episode_is_kept(tmp_path):
    (tmp_path / "all").mkdir()
    for number in range(3):
        (tmp_path / "all" / f"Act1-{number:06d}.bk2").write_text(str(number))
    keep_best(tmp_path / "all", [1.0, 9.0, 5.0], tmp_path / "best.bk2")
    assert (tmp_path / "best.bk2").read_text() == "1" and not (tmp_path / "all").exists()


def test_a_player_that_is_over_stays_in_grey_while_others_go_on(tmp_path):
    seen = []
    with closing(make_env(LEVEL, EnvConfig(episode_steps=6))) as env:
        play_episode(REFERENCES["hold-right"](0), env, seed=0, on_moment=seen.append)
    live, over = picture("a", seen, 5, NAMES), picture("a", seen, 6, NAMES)
    assert live.shape == over.shape == (504, 640, 3)
    assert np.ptp(live[:448].astype(int), axis=-1).max() > 50
    assert np.ptp(over[20:150, 20:-20].astype(int), axis=-1).max() == 0
    died = picture("a", seen, 6, NAMES, end="DIED")[0, 0]
    assert tuple(died) == RED and tuple(over[0, 0]) == GREY
    path = tmp_path / "film.mp4"
    players = {"short": seen[:2], "long": seen, "third": seen}
    film(path, players, NAMES, frame_skip=4, until=["long"])
    video = cv2.VideoCapture(str(path))
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) == 7 + 30  # the last one for two seconds
    assert video.get(cv2.CAP_PROP_FPS) == 15
    size = [video.get(side) for side in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)]
    assert size == [1280, 1008]
    frames = [video.read()[1].astype(int) for _ in range(6)]
    halves = slice(640), slice(640, 1280)
    left, right = ([np.ptp(f[:448, x], axis=-1).mean() for f in frames] for x in halves)
    assert min(left[:2]) > 30 and max(left[2:6]) < 5  # "short" is over
    assert min(right[:6]) > 30


def test_values_stand_as_bars_over_their_buttons_with_the_action_in_green():
    screen = Screen.of(np.zeros((224, 320, 3), np.uint8))
    shown = picture("a", [Moment(screen, 2, 5.0, [0.0, 1.0, 2.0])], 0, NAMES)[448:]
    tall = [(shown[:38, 640 - 24 * k + 5].max(axis=-1) > 0).sum() for k in (3, 2, 1)]
    assert tall[0] < tall[1] < tall[2]
    assert shown[-24, 640 - 24 + 5].tolist() == [110, 220, 130]
    assert all(shown[-16:, 640 - 24 * k : 640 - 24 * k + 18].any() for k in (3, 2, 1))


def test_a_label_that_is_no_utf_8_is_drawn():
    """In a process of its own, which OpenCV would crash."""
    code = """
import numpy
from retro_agents.judging.film import Moment, Screen, picture
screen = Screen.of(numpy.zeros((224, 320, 3), numpy.uint8))
picture("\\udcff", [Moment(screen, 0, 0.0, [])], 0, [""])
"""
    done = in_python(code)
    assert (done.returncode, done.stderr) == (0, "")
