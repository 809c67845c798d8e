"""Test levels that begin like a training level are told apart from the others."""

from dataclasses import replace

import numpy as np
import pytest

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.levels import level_sets
from retro_agents.games.procgen.pictures import MOST, apart, digests, first_pictures
from retro_agents.games.procgen.pool import Pool

TWENTY = ProcgenConfig(distribution_mode="easy", num_levels=20)


def test_first_pictures_are_those_of_every_level_alone():
    config = replace(TWENTY, start_level=7, num_levels=5)
    alone = [replace(config, start_level=7 + n, num_levels=1) for n in range(5)]
    pools = [Pool("coinrun", one, np.arange(1), [0]) for one in alone]
    wanted = {digest for pool in pools for digest in digests(pool, 1).values()}
    assert first_pictures("coinrun", config) == wanted and len(wanted) == 5


@pytest.mark.parametrize(
    ("game", "like", "new"),
    [
        ("maze", 1_475_478_025, 1_000_000),  # another seed than the twenty, the same maze
        ("coinrun", 19, 20),  # where all levels are test levels: a training level itself
    ],
)
def test_a_level_that_begins_like_a_training_level_does_not_count(game, like, new):
    test = level_sets(TWENTY, test_levels="unseen")["test"]
    episodes = [{"level": f"{game}:{seed}", "r": 1.0} for seed in (like, new)]
    assert apart(game, episodes, test=test, train=TWENTY) == episodes[1:]


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_levels_without_end_are_not_compared(count):
    config = replace(TWENTY, num_levels=count)
    assert apart("coinrun", [{"level": "coinrun:1"}], test=config, train=config) is None
