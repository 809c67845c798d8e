"""Procgen's games by Gymnasium's names."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

ID = "retro_agents:Procgen/bigfish-v0"


def test_a_game_keeps_to_gymnasiums_interface():
    check_env(gymnasium.make(ID, num_levels=5, render_mode="rgb_array").unwrapped)


def test_an_episode_ends_with_its_own_last_picture_and_the_next_begins_with_its_first():
    env = gymnasium.make(ID, num_levels=5, render_mode="rgb_array")
    first, _ = env.reset(seed=2)
    env.action_space.seed(0)
    over = False
    while not over:
        obs, _, terminated, truncated, info = env.step(env.action_space.sample())
        over = terminated or truncated
    assert info["episode_record"]["level"] == info["level"]
    assert (env.render() == obs.transpose(1, 2, 0)).all()
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(ValueError, match="cannot be reset singly"):
        env.reset(options={"levels": ["x"]})
    with pytest.raises(ValueError, match="unknown option 'level' of reset; expected none"):
        env.reset(options={"level": "coinrun:3"})
    begun, _ = env.reset()
    assert not (begun == obs).all()
    np.testing.assert_array_equal(env.reset(seed=2)[0], first)


def test_many_are_made_by_the_same_name():
    envs = gymnasium.make_vec(ID, num_envs=3, num_levels=5)
    assert envs.reset(seed=1)[0].shape == (3, 3, 64, 64)
    with pytest.raises(ValueError, match="rows of Procgen cannot be reset singly"):
        envs.reset(options={"reset_mask": np.ones(3, bool)})
    with pytest.raises(ValueError, match="render_mode 'rgb_array'; expected None"):
        gymnasium.make_vec(ID, num_envs=3, render_mode="rgb_array")
    with pytest.raises(TypeError, match="num_levels"):
        gymnasium.make_vec(ID, num_envs=3, levels=5)
    gymnasium.make_vec(ID, num_envs=3, autoreset_mode="SameStep")
    with pytest.raises(ValueError, match="vectorization_mode"):
        gymnasium.make_vec(ID, num_envs=3, autoreset_mode="NextStep")


def test_environments_made_one_by_one_play_other_levels():
    def level(seed):
        return gymnasium.make(ID).reset(seed=seed)[1]["level"]

    assert len({level(seed) for seed in range(100_000, 100_004)}) == 4
    assert level(None) != level(None)
