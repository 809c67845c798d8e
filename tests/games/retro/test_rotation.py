"""Going from level to level, within a ROM and across ROMs."""

from contextlib import closing

import numpy as np
import pytest

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_rotating_env, make_vec

GAME = "Airstriker-Genesis-v0"


@pytest.fixture
def two_games(copied):
    """The same game under two names with two states each, so that a switch changes the ROM."""
    levels = []
    for name in ("First-Genesis", "Second-Genesis"):
        files = ("rom.md", "data.json", "metadata.json", "scenario.json", "Level1.state")
        folder = copied(GAME, name, *files)
        (folder / "Level1.state").rename(folder / "A.state")
        (folder / "B.state").write_bytes((folder / "A.state").read_bytes())
        levels += [Level(name, "A"), Level(name, "B")]
    return levels


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


def test_a_level_that_is_named_skips_none_of_a_rows_own(either):
    level, config = either
    levels = [level, Level(level.game, "BrambleWood.Act2")]
    other = Level(level.game, "RustCavern.Act2")
    with closing(make_vec(levels, config, num_envs=1)) as envs:
        envs.reset()
        envs.reset(options={"levels": [other]})  # before any step on the first one
        envs.step(np.array([1]))
        assert envs.reset()[1]["level"] == [str(level)]
