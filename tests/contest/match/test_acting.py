"""Policies that remember are told where episodes begin, whoever asks them."""

from contextlib import closing
from itertools import islice

import numpy as np
import pytest

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_vec
from retro_agents.judging.evaluate import play_level
from retro_agents.judging.score import steps_of
from tests.agents.tiny import images, untrained

LEVEL = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
SHORT = EnvConfig(image_height=4, image_width=5, frame_stack=2, episode_steps=3)
OF_THREE = [[True], [False], [False]]


class Remembering:
    """RIGHT; keeps what it was told of episodes' starts."""

    def __init__(self):
        self.told: list[list[bool]] = []

    def act(self, obs, *, play=None, starts=None):
        assert starts is not None and starts.dtype == np.bool_
        self.told.append(starts.tolist())
        return np.ones(len(obs), np.int64)


def test_remembering_agent_is_told_where_evaluated_and_scored_episodes_begin():
    agents = Remembering(), Remembering()
    play_level(agents[0], LEVEL, SHORT, episodes=2)
    with closing(make_vec([LEVEL], num_envs=1, config=SHORT)) as envs:
        for _ in islice(steps_of(agents[1], envs), 6):
            pass
    assert [agent.told for agent in agents] == [OF_THREE * 2] * 2


@pytest.mark.parametrize("play", ["best", "draw"])
def test_recurrent_ppo2_forgets_the_last_episode(play):
    agent = untrained("ppo2", recurrent="gru", recurrent_hidden=8, sequence_steps=2)
    obs = images(4)[:, np.newaxis]
    begins, goes_on = np.ones(1, bool), np.zeros(1, bool)
    agent.act(obs[0], play=play, starts=begins)
    fresh = agent.state.clone()
    for image in obs[1:]:
        agent.act(image, play=play, starts=goes_on)
    agent.act(obs[0], play=play, starts=goes_on)
    assert not (agent.state == fresh).all(), "within an episode it remembers"
    agent.act(obs[0], play=play, starts=begins)
    assert (agent.state == fresh).all()
