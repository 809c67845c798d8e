import contextlib
import os
import signal
import time

import numpy as np
import pytest

from es.emulators import Emulators, Start
from retro_env import EnvConfig, make_env, parse_levels

LEVELS = parse_levels(",".join(f"BrambleDash-Genesis-v0:BrambleWood.Act{n}" for n in "12"))
CONFIG = EnvConfig(image_height=36, image_width=36)
ACTIONS = np.random.default_rng(0).integers(7, size=200)


@contextlib.contextmanager
def emulators(rows=1):
    stage = Emulators(LEVELS, num_envs=rows, config=CONFIG)
    try:
        yield stage
    finally:
        stage.close()


def play(stage, row, start):
    """Observations and rewards of an episode of fixed actions, and what is said at its end."""
    stage.begin(row, start)
    seen = [stage.obs[row].copy()]
    rewards, episode = [], None
    while episode is None:
        actions = np.full(stage.num_envs, ACTIONS[len(rewards)])
        answer = stage.step(actions, [row])[row]
        seen.append(stage.obs[row].copy())
        rewards.append(answer.reward)
        episode = answer.episode
    return np.stack(seen), rewards, episode


def slow(start):
    """The same in the project's environment."""
    env = make_env(LEVELS[start.level], EnvConfig(**{**vars(CONFIG), "episode_steps": start.steps}))
    obs, _ = env.reset(seed=start.seed)
    seen, rewards, over = [obs], [], False
    while not over:
        obs, reward, terminated, truncated, info = env.step(int(ACTIONS[len(rewards)]))
        seen.append(obs)
        rewards.append(float(reward))
        over = terminated or truncated
    env.close()
    return np.stack(seen), rewards, info["episode"]


def test_episodes_begin_with_any_level_seed_and_cap():
    starts = [Start(1, 5, 60), Start(0, 6, 40), Start(1, 5, 60), Start(1, 7, 60)]
    with emulators() as stage:
        found = [play(stage, 0, start) for start in starts]
    for start, (seen, rewards, episode) in zip(starts[:2], found, strict=False):
        expected = slow(start)
        np.testing.assert_array_equal(seen, expected[0])
        assert rewards == expected[1] and episode == expected[2]
        assert episode["l"] == start.steps
    np.testing.assert_array_equal(found[0][0], found[2][0])  # whatever was played between
    assert (found[0][0] != found[3][0]).any()  # another seed, other sticky actions


def test_emulator_that_dies_ends_the_run():
    with emulators(2) as stage:
        stage.begin(0, Start(0, 3, 30))
        os.kill(stage.processes[0].pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="emulator 0 has died"):
            for _ in range(2):
                stage.step(np.zeros(2, np.int64), [0])


def test_closed_emulators_leave_no_process():
    with emulators(2) as stage:
        pids = [process.pid for process in stage.processes]
    time.sleep(0.01)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
