"""Gymnasium's three modes of what follows the end of an episode."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import SyncVectorEnv

from retro_agents.contract.envs import ended_episodes

ID = "retro_agents:BrambleDash/test-v0"
SMALL = {"image_height": 20, "image_width": 24, "episode_steps": 5}
RIGHT = np.ones(2, int)


def begun(mode, **settings):
    """Two rows in that mode, at the start of their first episodes."""
    envs = gymnasium.make_vec(ID, num_envs=2, autoreset_mode=mode, **{**SMALL, **settings})
    envs.reset(seed=1)
    return envs


def test_next_step_gives_the_last_observation_and_then_the_first_of_the_next_level():
    envs, same = begun("NextStep"), begun("SameStep")
    for _ in range(5):
        obs, _, _, truncated, infos = envs.step(RIGHT)
        following, *_, theirs = same.step(RIGHT)
    assert truncated.all() and "final_obs" not in infos
    assert ended_episodes(infos) == ended_episodes(theirs) and len(ended_episodes(theirs)) == 2
    np.testing.assert_array_equal(obs, np.stack(theirs["final_obs"]))
    assert list(infos["episode_record"]["l"]) == [5, 5]
    obs, rewards, _, truncated, infos = envs.step(RIGHT)
    np.testing.assert_array_equal(obs, following)
    assert not truncated.any() and not rewards.any() and envs.unwrapped.levels == same.levels
    for _ in range(5):
        *_, truncated, infos = envs.step(RIGHT)
    assert truncated.all() and list(infos["episode_record"]["l"]) == [5, 5]


def test_ended_episodes_are_found_in_gymnasiums_own_vector_environments_too():
    lengths = [{**SMALL, "episode_steps": steps} for steps in (2, 3)]
    rows = [partial(gymnasium.make, ID, **settings) for settings in lengths]
    envs = SyncVectorEnv(rows, autoreset_mode="SameStep")
    envs.reset(seed=1)
    told = [ended_episodes(envs.step(RIGHT)[-1]) for _ in range(6)]
    found = [{one["env"]: one["l"] for one in ended} for ended in told]
    assert found == [{}, {0: 2}, {1: 3}, {0: 2}, {}, {0: 2, 1: 3}]


def test_next_step_skips_no_level_that_a_reset_begins_anew():
    envs = begun("NextStep")
    for _ in range(6):  # the last one begins the next episode
        envs.step(RIGHT)
    levels = list(envs.unwrapped.levels)
    envs.reset()
    assert envs.unwrapped.levels == levels


@pytest.mark.parametrize(
    "given", [{}, {"options": {"reset_mask": np.array([True, True])}}, {"seed": [None, 7]}]
)
def test_disabled_waits_for_the_caller(given):
    envs = begun("Disabled")
    first = list(envs.unwrapped.levels)
    for _ in range(5):
        envs.step(RIGHT)
    levels = list(envs.unwrapped.levels)
    with pytest.raises(ResetNeeded, match=r"rows \[0, 1\] have ended"):
        envs.step(RIGHT)
    envs.reset(**given)
    seeded = "seed" in given  # which begins the second row's levels anew
    assert envs.unwrapped.levels == [levels[0], first[1] if seeded else levels[1]]
    assert not envs.step(RIGHT)[3].any()


def test_a_row_that_is_not_reset_keeps_its_last_observation():
    envs = begun("Disabled")
    for _ in range(5):
        last = envs.step(RIGHT)[0].copy()
    obs, _ = envs.reset(options={"reset_mask": [True, False]})
    np.testing.assert_array_equal(obs[1], last[1])
    assert (obs[0] != last[0]).any()


def test_a_step_that_begins_an_episode_reports_none():
    """Beneath, it plays a step, with which an episode of a single one ends."""
    envs = begun("NextStep", episode_steps=1)
    assert [len(ended_episodes(envs.step(RIGHT)[-1])) for _ in range(4)] == [2, 0, 2, 0]
