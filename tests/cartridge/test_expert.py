"""The robust oracle as an expert: it reads where a game stands, and advises from there."""

from itertools import groupby
from random import Random
from unittest.mock import Mock

import numpy as np
import pytest

from cartridge.levels import expert, oracle, robust
from cartridge.levels.console import Status
from cartridge.levels.expert import EFFORT, UNKNOWN, Expert
from cartridge.levels.generator import all_acts
from cartridge.levels.simulator import Simulator
from cartridge.levels.zones import name_of
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import parse_levels
from retro_agents.games.retro.make import make_vec
from retro_agents.ground.errors import UserError

ACT = all_acts()[5]
NAME = name_of(ACT)
LEVELS = parse_levels(NAME)


@pytest.fixture(scope="module")
def knowing():
    made = Expert(LEVELS, EnvConfig(), practice=5)
    made.library(str(LEVELS[0]))
    return made


def seen(envs):
    """Where the game of each row stands."""
    rows = map(envs.row, range(envs.num_envs))
    return [Status.of(part.games.variables(index)) for part, index in rows]


def test_what_is_read_from_a_row_is_what_the_search_sees():
    simulator, plan = Simulator([ACT]), oracle.read_proof(NAME)
    envs = make_vec(LEVELS, num_envs=2, config=EnvConfig(stick_probability=0.0))
    envs.reset(seed=0)
    status = simulator.start(NAME)
    for action in plan[:-1]:
        assert seen(envs) == [status] * 2
        status = simulator.play((action,))[0]
        envs.step(np.full(2, action))


def test_it_does_what_the_robust_oracle_does(knowing):
    envs = make_vec(LEVELS, num_envs=3, config=EnvConfig())
    envs.reset(seed=5)
    library = knowing.library(str(LEVELS[0]))
    players = [robust.follower(library) for _ in range(3)]
    for _ in range(150):
        advice = knowing.actions(envs)
        actions = np.where(advice == UNKNOWN, oracle.RIGHT, advice)
        followed = [player(s) for player, s in zip(players, seen(envs), strict=True)]
        assert followed == actions.tolist()
        _, _, terminated, truncated, _ = envs.step(actions)
        for row in np.flatnonzero(terminated | truncated):
            players[row] = robust.follower(library)


def test_effort_makes_a_way_of_fewer_actions():
    simulator = Simulator([ACT])
    with_effort = oracle.plan(simulator, ACT, effort=EFFORT)
    without = oracle.plan(simulator, ACT)
    assert without == oracle.read_proof(NAME)
    assert len(list(groupby(with_effort))) < 0.7 * len(list(groupby(without)))
    assert oracle.replay(simulator, NAME, with_effort).finished


def test_where_no_easy_way_is_found_the_proof_serves(monkeypatch):
    monkeypatch.setattr(expert, "BUDGET", 3)
    builder = robust.Builder(Simulator([ACT]), ACT, Random(0), effort=EFFORT)
    plan = builder.build(oracle.read_proof(NAME), episodes=0)
    assert expert.practised(ACT, str(LEVELS[0]), episodes=0).advices == plan.advices
    proofs = Mock(return_value=oracle.PROOFS)
    monkeypatch.setattr(expert, "proofs_of", proofs)
    expert.practised(ACT, f"BrambleDash7-Genesis-v0:{NAME}", episodes=0)
    proofs.assert_called_once_with("BrambleDash7-Genesis-v0")  # of its own cartridge


def test_ways_past_an_obstacle_are_as_easy_as_the_plan(monkeypatch):
    search = Mock(side_effect=lambda *_, **__: iter(()))
    monkeypatch.setattr(oracle, "search", search)
    builder = robust.Builder(Simulator([ACT]), ACT, Random(0), effort=EFFORT)
    builder.build([oracle.LEFT], episodes=1)
    assert search.call_count == len(robust.BACK)
    assert all(call.kwargs["effort"] is EFFORT for call in search.call_args_list)


@pytest.mark.parametrize(
    ("levels", "config", "complaint"),
    [
        ("bramble-test", EnvConfig(), "BrambleWood.Act3 is held out"),
        ("sonic-train", EnvConfig(), "there is no expert for SonicTheHedgehog"),
        (NAME, EnvConfig(actions=10), "leave out --actions"),
        (NAME, EnvConfig(frame_skip=2), "leave out --actions"),
        (NAME, EnvConfig(backend="emulator"), "leave out --actions"),
    ],
)
def test_what_it_must_not_or_cannot_advise_on(levels, config, complaint):
    with pytest.raises(UserError, match=complaint):
        Expert(parse_levels(levels), config)
