"""A remote level under an agent's own loop."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from rainbow.train import run
from retro_agents.contest.wire.protocol import TimestepTimeoutError
from retro_agents.contest.wire.remote_vec import RemoteVectorEnv
from retro_agents.contract.envs import ended_episodes, row_seeds
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import parse_levels
from retro_agents.games.retro.make import make_contest_env, make_vec
from tests.agents.tiny import tiny

SMALL = EnvConfig(image_height=4, image_width=5, frame_stack=2)
LEVEL = parse_levels("bramble-test")[0]


@pytest.mark.parametrize("length", [5, 100])
def test_loop_as_long_as_the_budget_ends_by_itself(start, toy, length):
    """Also where the last step ends an episode: there is no next one to begin."""
    server = start(toy(length=length), timesteps=10)
    envs = RemoteVectorEnv(server.folder, config=SMALL)
    envs.reset()
    ended = [ended_episodes(envs.step(np.array([1]))[4]) for _ in range(10)]
    assert sum(len(episodes) for episodes in ended) == 10 // length
    for _ in range(2):
        with pytest.raises(TimestepTimeoutError):
            envs.step(np.array([1]))
    envs.close()
    server.ended()
    assert server.result()["steps"] == 10


def test_rainbow_learns_on_a_remote_level_exactly_as_on_a_local_one(start, tmp_path):
    """Through the same loop: same numbers in metrics.csv, same episodes."""
    flags = ["--timesteps", "200", "--num-envs", "1", "--seed", "3", "--episode-steps", "70"]
    config = tiny("rainbow", *flags, "--checkpoint-every", "0", "--torch-threads", "1")
    with closing(make_vec([LEVEL], num_envs=1, config=config.env, seed=3)) as local:
        run(local, config, tmp_path / "local")
    env = make_contest_env(LEVEL, EnvConfig(episode_steps=70))
    server = start(env, seed=row_seeds(3, 1)[0], timesteps=200)
    remote: Any = RemoteVectorEnv(server.folder, config=config.env, level=str(LEVEL))
    with closing(env), closing(remote):
        run(remote, config, tmp_path / "remote")
    for name in ("metrics.csv", "episodes.csv"):
        text = (tmp_path / "local" / name).read_text()
        assert (tmp_path / "remote" / name).read_text() == text
    assert text.count("\n") >= 3
