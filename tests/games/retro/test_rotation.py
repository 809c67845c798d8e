"""Going from level to level, within a ROM and across ROMs."""

import shutil
from contextlib import closing

import numpy as np
import pytest
from stable_retro.data import Integrations

from retro_agents.contract.envs import ended_episodes
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import file_of, games
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_rotating_env, make_vec

GAME = "Airstriker-Genesis-v0"


@pytest.fixture
def two_games(tmp_path):
    """The same game under two names with two states each, so that a switch changes the ROM."""
    levels = []
    for name in ("First-Genesis", "Second-Genesis"):
        folder = tmp_path / name
        folder.mkdir()
        for file in ("rom.md", "data.json", "metadata.json", "scenario.json"):
            shutil.copy(file_of(GAME, file), folder / file)
        for state in ("A", "B"):
            shutil.copy(file_of(GAME, "Level1.state"), folder / f"{state}.state")
            levels.append(Level(name, state))
    games.cache_clear()
    Integrations.add_custom_path(str(tmp_path))
    yield levels
    Integrations.clear_custom_paths()
    games.cache_clear()


CONFIG = EnvConfig(scenario="scenario", episode_steps=25)


def test_a_switch_is_a_truncation_and_cuts_no_episode_that_ends_by_itself(two_games):
    env = make_rotating_env(two_games, CONFIG, rotate_every=40)
    _, info = env.reset(seed=0)
    played, ends = [info["level"]], []
    for step in range(1, 161):
        _, _, terminated, truncated, info = env.step(step % 7)
        if terminated or truncated:
            ends.append((step, info["episode_record"]["rotated"], info["episode_record"]["l"]))
            _, info = env.reset()
            played.append(info["level"])
    env.close()
    assert ends == [
        *((25, False, 25), (40, True, 15), (65, False, 25), (80, True, 15)),
        *((105, False, 25), (120, True, 15), (145, False, 25), (160, True, 15)),
    ]
    names = [str(level) for level in two_games]
    assert played == [name for name in names for _ in range(2)] + names[:1]
    env = make_rotating_env(two_games, CONFIG, rotate_every=25)
    env.reset()
    for step in range(25):
        _, _, _, truncated, info = env.step(step % 7)
    _, following = env.reset()
    env.close()
    assert truncated and not info["episode_record"]["rotated"]
    assert following["level"] == str(two_games[1])


def test_without_rotation_levels_come_in_turn_and_a_single_one_is_never_cut(two_games):
    env = make_rotating_env(two_games[:2], CONFIG, rotate_every=0)
    played = []
    for _ in range(4):
        played.append(env.reset()[1]["level"])
        for _ in range(5):
            env.step(0)
    env.close()
    assert played == [str(level) for level in two_games[:2]] * 2
    env = make_rotating_env(two_games[:1], CONFIG, rotate_every=5)
    env.reset()
    ends = [env.step(0)[3] for _ in range(25)]
    env.close()
    assert ends == [False] * 24 + [True]


def test_rotation_resumes_exactly_in_fresh_processes(two_games):
    def envs(seed):
        return make_vec(two_games, num_envs=2, config=CONFIG, seed=seed, rotate_every=40)

    def play(batch, steps):
        random = np.random.default_rng(steps)
        for _ in range(steps):
            yield batch.step(random.integers(0, 7, 2))

    with closing(envs(0)) as first:
        first.reset()
        list(play(first, 90))
        saved = first.save_states()
        expected = list(play(first, 100))
    with closing(envs(0)) as second:
        second.restore_states(saved)
        for theirs, ours in zip(expected, play(second, 100), strict=True):
            for a, b in zip(theirs[:4], ours[:4], strict=True):
                np.testing.assert_array_equal(a, b)
            assert ended_episodes(theirs[4]) == ended_episodes(ours[4])
