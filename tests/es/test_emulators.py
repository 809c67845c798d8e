import contextlib
import os
import signal
import time

import numpy as np
import pytest

from es.emulators import TRIALS, Emulators, Start
from retro_env import EnvConfig, make_env, parse_levels

LEVELS = parse_levels(",".join(f"BrambleDash-Genesis-v0:BrambleWood.Act{n}" for n in "12"))
CONFIG = EnvConfig(image_height=36, image_width=36)
ACTIONS = np.random.default_rng(0).integers(7, size=200)


@contextlib.contextmanager
def emulators(rows=1, *, step_seconds=60.0):
    stage = Emulators(LEVELS, num_envs=rows, config=CONFIG, step_seconds=step_seconds)
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


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL], ids=["hangs", "dies"])
def test_emulator_that_hangs_or_dies_is_replaced_and_its_episode_begun_again(how):
    start = Start(0, 3, 30)
    with emulators(2, step_seconds=60.0) as stage:
        expected = play(stage, 0, start)
        stage.begin(0, start)
        for step in range(10):
            stage.step(np.full(2, ACTIONS[step]), [0])
        stage.step_seconds = 0.5
        os.kill(stage.processes[0].pid, how)
        assert stage.step(np.zeros(2, np.int64), [0])[0].lost
        stage.step_seconds = 60.0
        np.testing.assert_array_equal(stage.obs[0], expected[0][0])
        rewards = [stage.step(np.full(2, ACTIONS[step]), [0])[0].reward for step in range(30)]
        assert rewards == expected[1]


def test_emulators_that_are_lost_again_and_again_end_the_run(monkeypatch):
    with emulators() as stage:
        stage.begin(0, Start(0, 3, 30))
        for trial in range(TRIALS):
            os.kill(stage.processes[0].pid, signal.SIGKILL)
            if trial < TRIALS - 1:
                assert stage.step(np.zeros(1, np.int64), [0])[0].lost
        with pytest.raises(RuntimeError, match=r"hung or died.*BrambleWood"):
            stage.step(np.zeros(1, np.int64), [0])


@pytest.fixture
def fail(monkeypatch):
    """Called with a number: so many of the next emulators die as they start. -> Those left."""
    launch, left = Emulators.launch, []

    def dying(stage, row):
        launch(stage, row)
        if left:
            left.pop()
            os.kill(stage.processes[row].pid, signal.SIGKILL)

    def fail(count):
        left[:] = [True] * count
        monkeypatch.setattr(Emulators, "launch", dying)
        return left

    return fail


def test_emulator_that_does_not_start_is_one_more_that_was_lost(fail):
    with emulators() as stage:
        left = fail(1)
        stage.begin(0, Start(0, 3, 30))
        os.kill(stage.processes[0].pid, signal.SIGKILL)
        assert stage.step(np.zeros(1, np.int64), [0])[0].lost and not left
        fail(TRIALS)
        os.kill(stage.processes[0].pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="hung or died"):
            stage.step(np.zeros(1, np.int64), [0])


@pytest.mark.parametrize("lost", [1, TRIALS])
def test_emulator_that_is_lost_at_the_very_first_start_is_replaced(fail, lost):
    fail(lost)
    ends = pytest.raises(RuntimeError, match="hung or died")
    with ends if lost == TRIALS else contextlib.nullcontext(), emulators() as stage:
        stage.begin(0, Start(0, 3, 30))
        assert stage.obs.any()


def test_closed_emulators_leave_no_process():
    with emulators(2) as stage:
        pids = [process.pid for process in stage.processes]
    time.sleep(0.01)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
