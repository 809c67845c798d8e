"""What a user does with an environment besides playing: its state, its variables, a fork."""

import copy

import gymnasium
import msgspec
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.error import ResetNeeded

from retro_agents.contract.envs import row_seeds
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env, make_vec, restore_env, save_env
from retro_agents.ground.errors import UserError
from tests.runs import in_python

ID = "retro_agents:BrambleDash/BrambleWood.Act3-v0"
SMALL = {"image_height": 20, "image_width": 24, "episode_steps": 60}


def test_a_vector_environment_has_the_variables_of_every_row(either, closed):
    level, config = either
    env, envs = closed(make_env(level, config)), closed(make_vec([level], config, num_envs=2))
    env.reset(seed=row_seeds(7, 2)[1])
    envs.reset(seed=7)
    for _ in range(9):
        info = env.step(3)[-1]
        envs.step([1, 3])
    variables = {name: values[1] for name, values in envs.variables().items()}
    assert variables | {"level": envs.levels[1]} == info


@pytest.mark.parametrize("name", [ID, "retro_agents:BrambleDash/train-v0"])
def test_a_state_of_a_named_environment_is_saved_and_restored(name):
    env = wrappers.TimeLimit(gymnasium.make(name, **SMALL), 90)
    for use in (lambda: save_env(env), lambda: copy.deepcopy(env)):
        with pytest.raises((ResetNeeded, TypeError), match=r"call reset|cannot be copied"):
            use()
    env.reset(seed=3)
    for _ in range(20):
        env.step(1)
    saved = msgspec.msgpack.decode(msgspec.msgpack.encode(save_env(env)))
    lines = []
    for _ in range(2):
        restore_env(env, saved)
        lines.append([env.step(action % 7) for action in range(30)])
    np.testing.assert_equal(*lines)
    again = gymnasium.make(name, **SMALL)
    restore_env(again, saved)
    np.testing.assert_array_equal(again.step(0)[0], lines[0][0][0])
    again.close()
    with pytest.raises(ResetNeeded, match="closed"):
        restore_env(again, saved)


def test_only_a_single_level_has_a_state_to_save():
    for env in (make_vec(["BrambleWood.Act3"], num_envs=1), gymnasium.make("CartPole-v1")):
        with pytest.raises(UserError, match="a vector environment has save_states"):
            save_env(env)
        env.close()


def test_a_state_is_not_restored_on_the_other_back_end():
    saved = {}
    for backend, other in (("emulator", "native"), ("native", "emulator")):
        env = make_env("BrambleWood.Act3", EnvConfig(backend=backend))
        env.reset()
        saved[backend] = save_env(env)
        if other in saved:
            with pytest.raises(UserError, match=f"saved with the back end {other}"):
                restore_env(env, saved[other])
        env.close()


FORKED = """
import os, warnings
import numpy as np
from retro_agents import make_vec
from retro_agents.games.retro import native
native.free_cores = lambda: 2
envs = make_vec("bramble-train", num_envs=64)
envs.reset()
envs.step(np.ones(64, int))
warnings.simplefilter("ignore")
if os.fork() == 0:
    envs.step(np.ones(64, int))
os.wait()
"""


def test_a_forked_process_is_told_that_it_lacks_the_threads():
    done = in_python(FORKED)
    assert "RuntimeError: a forked process has not this environment's threads" in done.stderr
