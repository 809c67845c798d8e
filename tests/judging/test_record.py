from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from retro_agents.experience.episodes import episodes_of
from retro_agents.games.families import level_names, make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.errors import UserError
from retro_agents.judging.record import advised, main, record
from retro_agents.run.checkpoint import load_checkpoint
from tests.agents.tiny import train

LEVELS = "BrambleWood.Act1,RustCavern.Act1"
LENGTH, RIGHT, JUMP = 8, 1, 6


def test_recorded_are_whole_episodes_of_every_row_in_the_order_of_their_returns(corridor):
    rng, seen = np.random.default_rng(0), []

    def act(obs, *, starts):
        seen.append((obs[:, -1:].copy(), starts.copy()))
        return np.where(rng.random(3) < 0.4, JUMP, RIGHT)

    envs = corridor(3)
    found = record(envs, act, episodes=4, seed=0)
    assert len(found) == 12
    returns = [one.total_reward for one in found]
    assert returns == sorted(returns) and returns[-1] == LENGTH
    for one in found:
        assert one.terminated and one.level == "corridor" and one.frame_skip == 4
        assert one.action_names == envs.env_spec.action_names
        for step, action in enumerate(one.actions):
            assert action in (RIGHT, JUMP)
            assert (one.frames[step][0, 0] == 220).argmax() == 4 * step  # its place
    first = seen[0][1]
    assert first.all() and not seen[1][1].any()


def test_what_earned_nothing_before_a_limit_is_left_out(corridor):
    count = 0

    def act(obs, *, starts):
        nonlocal count
        count = 0 if starts[0] else count + 1
        return np.array([RIGHT if count < 2 else 0])

    (one,) = record(corridor(1), act, episodes=1, seed=0)
    assert one.rewards.tolist() == [1.0, 1.0] and not one.terminated and len(one.frames) == 3


def test_an_expert_that_does_not_know_goes_on(corridor):
    advice = Mock(side_effect=np.array([[-1, 3], [2, -1], [-1, -1]]))
    act = advised(Mock(actions=advice), corridor(2))
    assert [act(None, starts=None).tolist() for _ in range(3)] == [[0, 3], [2, 3], [2, 3]]


def test_an_agent_is_recorded_on_the_levels_that_it_was_trained_on(tmp_path):
    agent = train("rainbow", tmp_path / "run", "--timesteps", 0, "--episode-steps", 25)
    main([str(tmp_path / "run"), "--out", str(tmp_path / "played")])
    found = {one.level for one in episodes_of(load_checkpoint(tmp_path / "played"))}
    assert found == {*level_names(agent.config.run.levels)} and len(found) == 2


def test_an_agent_is_recorded_in_the_way_that_is_asked_for(tmp_path, monkeypatch, refused):
    act = Mock(side_effect=UserError("enough"))
    agent = SimpleNamespace(config=SimpleNamespace(env=EnvConfig()), act=act)
    monkeypatch.setattr(f"{main.__module__}.load_agent", lambda _: agent)
    words = ["mine", "--levels", LEVELS, "--play", "draw:2", "--out", str(tmp_path / "out")]
    assert "enough" in refused(main, words, noisy=True)
    assert act.call_args.kwargs["play"] == "draw:2"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two acts that the expert played."""
    folder = tmp_path_factory.mktemp("recorded") / "shown"
    main(["expert", "--levels", LEVELS, "--seed", "3", "--out", str(folder)])
    return episodes_of(load_checkpoint(folder))


def test_an_expert_comes_far(recorded):
    assert len(recorded) == 2
    assert np.mean([one.total_reward for one in recorded]) > 4_000


def test_recorded_actions_played_again_show_the_same(recorded):
    envs = make(LEVELS, EnvConfig().with_raw_rewards(), num_envs=2, seed=3)
    obs, _ = envs.reset(seed=3)
    ordered = [next(one for one in recorded if one.level == level) for level in envs.levels]
    steps = min(len(one.actions) for one in ordered)
    for step in range(steps):
        assert all((obs[row, -1:] == one.frames[step]).all() for row, one in enumerate(ordered))
        obs, rewards, *_ = envs.step(np.array([one.actions[step] for one in ordered]))
        assert rewards.tolist() == [one.rewards[step] for one in ordered]
    envs.close()
