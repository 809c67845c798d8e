import dataclasses

import numpy as np
import pytest
import torch

from ppo2.agent import PPO2Agent
from retro_agents.games.retro.bramble import reference_returns
from retro_agents.games.retro.levels import parse_levels
from retro_agents.ground.errors import UserError
from retro_agents.judging.evaluate import play_level
from retro_agents.judging.policies import load_policy
from retro_agents.run.agents import AGENTS, shipped
from retro_agents.run.checkpoint import load_agent

NEVER_SEEN = parse_levels("bramble-test")


def random_play():
    """Mean return of random play on the same acts."""
    return float(np.mean([reference_returns()[str(level), "random"] for level in NEVER_SEEN]))


@pytest.mark.parametrize("name", [*filter(shipped, AGENTS)])
def test_committed_weights_play_acts_they_never_saw_better_than_chance(name):
    policy, settings = load_policy(name, seed=0)
    settings = dataclasses.replace(settings, episode_steps=400)
    played = [play_level(policy, level, settings, episodes=1)[0] for level in NEVER_SEEN]
    mean = np.mean([episode.r for episodes in played for episode in episodes])
    assert mean > 1.2 * random_play()


@pytest.fixture
def float64():
    """Makes float64 torch's default until the test ends."""
    yield lambda: torch.set_default_dtype(torch.float64)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("name", "play"), [("ppo2", "draw"), ("rainbow", "best")])
def test_shipped_agents_play_as_their_checkpoint_says(name, play):
    policy, _ = load_policy(name, seed=0)
    obs = np.random.default_rng(0).integers(0, 256, (64, 4, 84, 84), np.uint8)
    assert policy.config.net.play == play
    torch.manual_seed(1)
    asked = policy.act(obs, play=play)
    torch.manual_seed(1)
    assert (policy.act(obs) == asked).all()


@pytest.mark.parametrize("name", [*filter(shipped, AGENTS)])
def test_a_shipped_agent_plays_the_same_where_float64_is_torchs_default(name, float64):
    obs = np.random.default_rng(0).integers(0, 256, (8, 4, 84, 84), np.uint8)
    acts = load_agent(name).act(obs, play="best")
    float64()
    np.testing.assert_array_equal(load_agent(name).act(obs, play="best"), acts)


def test_a_recurrent_agent_acts_where_float64_is_torchs_default(float64):
    float64()
    agent = PPO2Agent.build({"net": {"recurrent": "gru", "sequence_steps": 8}})
    assert agent.act(np.zeros((2, 4, 84, 84), np.uint8)).shape == (2,)


def test_what_is_no_array_of_observations_is_said_in_one_line():
    agent, obs = load_agent("ppo2"), np.zeros((1, 4, 84, 84), np.uint8)
    for wrong in (torch.from_numpy(obs), obs.tolist()):
        with pytest.raises(UserError, match=f"are a {type(wrong).__name__}: expected a NumPy"):
            agent.act(wrong)
    assert agent.act(obs, starts=[True]).shape == (1,)


def test_a_device_that_is_missing_is_no_damage():
    with pytest.raises(UserError, match="unknown device 'cup'"):
        load_agent("ppo2", device="cup")
    assert load_agent("ppo2", device="auto")


def test_a_loaded_agent_acts_on_few_rows_in_one_thread_and_leaves_the_others():
    policy, seen = load_agent("ppo2"), []
    policy.net.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for rows in (1, 64):
            policy.act(np.zeros((rows, 4, 84, 84), np.uint8))
        assert seen == [1, 2] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
