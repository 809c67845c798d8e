"""Policies that remember are told where episodes begin, whoever asks them."""

from contextlib import closing
from itertools import islice

import numpy as np
import pytest

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from retro_agents.contest.wire.protocol import TimestepTimeoutError
from retro_agents.contest.wire.remote_vec import RemoteVectorEnv
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_vec
from retro_agents.judging.evaluate import play_level
from retro_agents.judging.score import steps_of
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.config import from_dict

LEVEL = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
SMALL = EnvConfig(image_height=4, image_width=5, frame_stack=2)
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


def test_remembering_agent_is_told_where_remote_episodes_begin(start, toy):
    server = start(toy(length=3), timesteps=8)
    agent = Remembering()
    envs = RemoteVectorEnv(server.folder, config=SMALL, level="toy")
    with closing(envs), pytest.raises(TimestepTimeoutError):
        for _ in steps_of(agent, envs):
            pass
    assert agent.told[:8] == (OF_THREE * 3)[:8]


def test_remembering_agent_is_told_where_evaluated_and_scored_episodes_begin():
    agents = Remembering(), Remembering()
    play_level(agents[0], LEVEL, SHORT, episodes=2)
    with closing(make_vec([LEVEL], num_envs=1, config=SHORT)) as envs:
        for _ in islice(steps_of(agents[1], envs), 6):
            pass
    assert [agent.told for agent in agents] == [OF_THREE * 2] * 2


@pytest.mark.parametrize("play", ["best", "draw"])
def test_recurrent_ppo2_forgets_the_last_episode(play):
    net = {"hidden": 16, "recurrent": "gru", "recurrent_hidden": 8, "sequence_steps": 2}
    config = from_dict(PPO2Config, {"image_height": 36, "image_width": 36, **net})
    agent = PPO2Agent(make_actor_critic(config), config)
    obs = np.random.default_rng(0).integers(0, 256, (4, 1, 4, 36, 36), dtype=np.uint8)
    begins, goes_on = np.ones(1, bool), np.zeros(1, bool)
    agent.act(obs[0], play=play, starts=begins)
    fresh = agent.state.clone()
    for image in obs[1:]:
        agent.act(image, play=play, starts=goes_on)
    agent.act(obs[0], play=play, starts=goes_on)
    assert not (agent.state == fresh).all(), "within an episode it remembers"
    agent.act(obs[0], play=play, starts=begins)
    assert (agent.state == fresh).all()
