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


def played(levels, *, rotate_every, steps):
    """Plays so many steps -> (step, whether rotated, length) of each end, and the levels begun."""
    with closing(make_rotating_env(levels, CONFIG, rotate_every=rotate_every)) as env:
        begun, ends = [env.reset(seed=0)[1]["level"]], []
        for step in range(1, steps + 1):
            _, _, terminated, truncated, info = env.step(step % 7)
            if terminated or truncated:
                episode = info["episode_record"]
                ends.append((step, episode["rotated"], episode["l"]))
                begun.append(env.reset()[1]["level"])
    return ends, begun


def test_a_switch_is_a_truncation_and_cuts_no_episode_that_ends_by_itself(two_games):
    names = [str(level) for level in two_games]
    ends, begun = played(two_games, rotate_every=40, steps=160)
    assert ends == [
        *((25, False, 25), (40, True, 15), (65, False, 25), (80, True, 15)),
        *((105, False, 25), (120, True, 15), (145, False, 25), (160, True, 15)),
    ]
    assert begun == [name for name in names for _ in range(2)] + names[:1]
    assert played(two_games, rotate_every=25, steps=25) == ([(25, False, 25)], names[:2])


def test_without_rotation_levels_come_in_turn_and_a_single_one_is_never_cut(two_games):
    names = [str(level) for level in two_games]
    _, begun = played(two_games[:2], rotate_every=0, steps=75)
    assert begun == names[:2] * 2
    assert played(two_games[:1], rotate_every=5, steps=25) == ([(25, False, 25)], names[:1] * 2)


def test_a_level_that_is_named_skips_none_of_a_rows_own(either):
    level, config = either
    levels = [level, Level(level.game, "BrambleWood.Act2")]
    other = Level(level.game, "RustCavern.Act2")
    with closing(make_vec(levels, config, num_envs=1)) as envs:
        envs.reset()
        envs.reset(options={"levels": [other]})  # before any step on the first one
        envs.step(np.array([1]))
        assert envs.reset()[1]["level"] == [str(level)]
