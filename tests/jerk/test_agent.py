"""The agent alone, as in an evaluation."""

import numpy as np
import pytest

from jerk.agent import JerkAgent, build
from jerk.config import JerkConfig
from jerk.policy import BackingPolicy
from retro_agents.ground.errors import UserError
from retro_agents.run.config import replaced, to_dict

RIGHT, JUMP, WAIT = 1, 6, 4
CONFIG = replaced(JerkConfig(), image_height=36, image_width=36, device="cpu")
PLAN = np.array([WAIT, WAIT, RIGHT, JUMP, RIGHT], np.uint8)


@pytest.fixture
def agent(course):
    """A JERK agent that knows a sequence for the course."""
    agent = JerkAgent(CONFIG)
    obs, _ = course(1).reset()
    agent.sequences.starts["course"] = obs[0].copy()
    agent.sequences.add("course", PLAN, 3.0)
    return agent


class Jumper:
    """A policy that jumps, unless it is asked for its best action."""

    def act(self, obs, *, play=None):
        return np.full(len(obs), WAIT if play == "best" else JUMP)


def test_after_its_sequence_the_policy_acts_if_there_is_one(agent):
    first, other = agent.sequences.starts["course"][None], np.zeros((1, 4, 36, 36), np.uint8)
    played = [int(agent.act(obs)[0]) for obs in (first, *[other] * 6)]
    assert played == [*PLAN, RIGHT, RIGHT]
    agent.policy = BackingPolicy(Jumper(), "jumper", {})
    assert agent.act(other).tolist() == [JUMP]
    assert agent.act(other, play="best").tolist() == [WAIT]


def test_an_episode_on_an_unknown_level_is_not_the_last_ones_sequence(agent):
    first, unknown = agent.sequences.starts["course"][None], np.zeros((1, 4, 36, 36), np.uint8)
    assert agent.act(first, starts=np.array([True])).tolist() == [WAIT]
    assert agent.act(unknown, starts=np.array([False])).tolist() == [WAIT]
    assert agent.act(unknown, starts=np.array([True])).tolist() == [RIGHT]
    assert agent.act(first, starts=np.array([True])).tolist() == [WAIT]


def test_a_first_observation_seen_again_within_an_episode_begins_nothing(agent):
    agent.sequences.best("course").actions[:4] = [RIGHT, WAIT, JUMP, WAIT]
    first, other = agent.sequences.starts["course"][None], np.zeros((1, 4, 36, 36), np.uint8)
    begins, goes_on = np.array([True]), np.array([False])
    rows = [(first, begins), (other, goes_on), (first, goes_on), (other, goes_on)]
    played = [agent.act(obs, starts=starts).item() for obs, starts in rows]
    assert played == [RIGHT, WAIT, JUMP, WAIT]


def test_weights_are_not_taken_for_a_net_of_its_own():
    with pytest.raises(UserError, match="no net of its own"):
        build(to_dict(CONFIG), {})
