"""Rows that begin where another stood, and episodes that begin shortly before a death."""

from dataclasses import replace

import numpy as np
import pytest

from ppo2.train import parse
from retro_agents.contract.envs import ended_episodes
from retro_agents.games.families import make_for
from retro_agents.games.practice import FARTHEST, NEAREST, PLACES, Practice
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_vec
from retro_agents.ground.errors import UserError
from tests.games.retro.conftest import BRAMBLE

RIGHT = 1
CONFIG = EnvConfig(image_height=16, image_width=16, stick_probability=0.0)


def practising(share=1.0, seed=0):
    levels = [BRAMBLE, Level(BRAMBLE.game, "BrambleWood.Act2")]
    config = replace(CONFIG, episode_steps=300)
    return Practice(make_vec(levels, num_envs=2, config=config, seed=seed), share, seed=seed)


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_an_episode_goes_on_where_another_row_stood(backend):
    envs = make_vec([BRAMBLE], num_envs=2, config=replace(CONFIG, backend=backend))
    envs.reset(seed=0)
    for _ in range(20):
        envs.step(np.array([RIGHT, 0]))
    state = envs.save_row(0)
    obs = envs.restart(1, state)
    assert (obs == obs[-1]).all()
    for _ in range(30):
        obs, rewards, *_ = envs.step(np.array([RIGHT, RIGHT]))
        assert rewards[0] == rewards[1]
        np.testing.assert_array_equal(obs[0, -1], obs[1, -1])
    assert rewards[0] >= 0.0
    envs.close()


def test_a_restarted_episode_counts_its_steps_from_zero_and_keeps_its_return():
    envs = make_vec([BRAMBLE], num_envs=2, config=replace(CONFIG, episode_steps=40))
    envs.reset(seed=0)
    for _ in range(30):
        envs.step(np.array([RIGHT, 0]))
    envs.restart(1, envs.save_row(0))
    ends = {}
    for step in range(40):
        for episode in ended_episodes(envs.step(np.array([RIGHT, RIGHT]))[-1]):
            ends.setdefault(episode["env"], (step, episode))
    (first, whole), (second, midway) = ends[0], ends[1]
    assert (first, second) == (9, 39)
    assert midway["l"] == 40 and midway["r"] > whole["r"]
    envs.close()


def played(envs, steps, rng):
    return [envs.step(rng.choice([1, 1, 1, 3, 6], 2)) for _ in range(steps)]


def test_practice_begins_before_a_death_and_only_whole_episodes_are_reported():
    envs = practising(share=0.7)
    envs.reset(seed=0)
    reported = 0
    for *_, terminated, truncated, infos in played(envs, 2500, np.random.default_rng(0)):
        reported += len(ended_episodes(infos))
        assert len(ended_episodes(infos)) <= (terminated | truncated).sum()
    places = [place for row in envs.rows for place in row.places]
    assert reported >= 2
    assert all(NEAREST <= place.steps <= FARTHEST for place in places)
    assert all(len(row.places) <= PLACES for row in envs.rows)
    assert any(place.tried for place in places) and any(place.failed for place in places)
    envs.close()


def test_practice_resumes_exactly():
    rng = np.random.default_rng(0)
    envs = practising()
    envs.reset(seed=0)
    played(envs, 700, rng)
    saved, after = envs.save_states(), played(envs, 400, np.random.default_rng(1))
    again = practising(seed=5)
    again.restore_states(saved)
    for one, other in zip(after, played(again, 400, np.random.default_rng(1)), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    assert any(row.current for row in envs.rows)
    for each in (envs, again):
        each.close()


@pytest.mark.parametrize("agent", ["es", "jerk"])
def test_agents_that_play_whole_episodes_refuse_practice(agent):
    from importlib import import_module

    with pytest.raises(UserError, match="--practice is for agents that learn from single steps"):
        import_module(f"{agent}.train").parse(["--practice", "0.5"])


def test_procgen_cannot_be_practised(monkeypatch):
    config = parse(["--levels", "procgen:coinrun", "--num-envs", "2", "--practice", "0.25"])
    with pytest.raises(UserError, match="--practice is for platform games"):
        make_for(config)
