"""Workers: what a batch holds, exact resume in fresh processes, and what happens when one dies."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Pipe

import msgspec
import numpy as np
import pytest

from retro_agents.contract.envs import ended_episodes
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import file_of
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env, make_vec, restore_env, save_env
from retro_agents.games.retro.vector import assign_levels
from retro_agents.games.retro.worker import run_worker
from retro_agents.ground.errors import UserError
from tests.games.retro.conftest import BRAMBLE
from tests.games.streams import played
from tests.runs import ROOT, soon

LEVELS = [Level("Game", f"Act{i}") for i in range(5)]


@pytest.fixture
def make(closed):
    return lambda *args, **options: closed(make_vec(*args, **options))


def test_levels_are_shared_out_without_rotation():
    rows = assign_levels(LEVELS, num_envs=2, rotate_every=0, seed=0)
    assert rows == [LEVELS[0::2], LEVELS[1::2]]
    rows = assign_levels(LEVELS[:2], num_envs=3, rotate_every=0, seed=0)
    assert rows == [LEVELS[:1], LEVELS[1:2], LEVELS[:1]]


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_a_part_plays_as_its_rows_of_the_whole(backend, make):
    config = EnvConfig(backend=backend)

    def rewards(part):
        envs = make("BrambleWood.Act1", config, num_envs=2, seed=1, part=part)
        envs.reset()
        return np.array([envs.step(np.full(envs.num_envs, 1 + t % 2))[1] for t in range(30)])

    whole = rewards(slice(None))
    np.testing.assert_array_equal(rewards(slice(1, 2)), whole[:, 1:])
    assert (whole[:, 0] != whole[:, 1]).any()


@pytest.mark.parametrize(
    ("backend", "waits", "call"),
    [("native", "step_wait", "step"), ("emulator", "receive", "step"), ("emulator", "receive", "")],
)
def test_an_environment_that_ctrl_c_stopped_is_closed(backend, waits, call, make, monkeypatch):
    envs = make("BrambleWood.Act1", EnvConfig(backend=backend), num_envs=2)
    envs.reset()

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(envs, waits, stopped)
    with pytest.raises(KeyboardInterrupt):
        envs.step(np.ones(2, int)) if call else envs.reset()
    with pytest.raises(RuntimeError, match="is closed: make another"):
        envs.reset()


@pytest.mark.parametrize("num_envs", [1, 2, 5, 8])
def test_rotation_gives_every_level_the_same_share(num_envs):
    rows = assign_levels(LEVELS, num_envs=num_envs, rotate_every=10, seed=3)
    assert all(sorted(map(str, row)) == sorted(map(str, LEVELS)) for row in rows)
    at_once = [str(row[0]) for row in rows]
    counts = [at_once.count(str(level)) for level in LEVELS]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("playable", ["scripted", "native"], indirect=True)
def test_a_worker_plays_as_the_single_environment_does(playable, make):
    level, config = playable
    config = replace(config, episode_steps=60)
    env = make_env(level, config)
    envs = make([level], num_envs=2, config=config)
    single, _ = env.reset(seed=7)
    batch, _ = envs.reset(seed=[7, 8])
    np.testing.assert_array_equal(single, batch[0])
    ended = 0
    for action in np.random.default_rng(0).integers(0, 7, 150):
        single, reward, terminated, truncated, info = env.step(action)
        batch, rewards, terminations, truncations, infos = envs.step(np.array([action, 0]))
        assert (reward, terminated, truncated) == (rewards[0], terminations[0], truncations[0])
        if terminated or truncated:
            np.testing.assert_array_equal(single, infos["final_obs"][0])
            assert infos["_final_obs"][0]
            (episode,) = [e for e in ended_episodes(infos) if e["env"] == 0]
            assert episode == {**info["episode_record"], "env": 0}
            single, _ = env.reset()
            ended += 1
        np.testing.assert_array_equal(single, batch[0])
    env.close()
    assert ended >= 2


def test_wrong_seeds_and_left_out_workers_are_refused_and_observations_stay(either, make):
    level, config = either
    envs = make([level], num_envs=2, config=config)
    for seeds in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"{len(seeds)} seeds for 2 rows"):
            envs.reset(seed=seeds)
    for levels in ([str(level)], str(level)):
        with pytest.raises(ValueError, match="expected a list of 2 levels"):
            envs.reset(options={"levels": levels})
    envs.reset(options={"levels": [level, str(level)]})
    envs.reset(seed=np.int64(3))
    first, _ = envs.reset(seed=list(np.arange(2)))
    kept = first.copy()
    for _ in range(30):
        envs.step(np.array([1, 1]))
    np.testing.assert_array_equal(first, kept)
    envs.step_async(np.array([1]), slice(0, 1))
    with pytest.raises(AssertionError, match="without step_async"):
        envs.step_wait()
    with pytest.raises(AssertionError, match="twice"):
        envs.step_async(np.array([1, 1]))


def test_restored_in_fresh_processes_continues_exactly_across_roms(scripted_level, make):
    level, config = scripted_level
    levels, config = [level, BRAMBLE], replace(config, episode_steps=55, backend="emulator")
    settings = {"num_envs": 2, "config": config, "rotate_every": 40, "seed": 3}
    envs = make(levels, **settings)
    envs.reset()
    played(envs, 70, seed=0)
    saved = msgspec.msgpack.encode(envs.save_states())
    expected = played(envs, 60, seed=1)
    fresh = make(levels, **settings)
    fresh.restore_states(msgspec.msgpack.decode(saved))
    np.testing.assert_equal(played(fresh, 60, seed=1), expected)
    assert any(row[-1] for row in expected)
    assert {name for *_, names, _ in expected for name in names} == {*map(str, levels)}


def test_a_moment_of_another_build_is_not_replayed(copied):
    files = ("rom.md", "rom.sha", "data.json", "metadata.json", "contest.json")
    game = copied(BRAMBLE.game, "BrambleDash9-Genesis-v0", *files, f"{BRAMBLE.state}.state")
    level, config = Level(game.name, BRAMBLE.state), EnvConfig(backend="emulator")
    with closing(make_env(level, config)) as env:
        env.reset()
        saved = save_env(env)
    other = file_of(BRAMBLE.game, "RustCavern.Act2.state").read_bytes()
    (game / f"{level.state}.state").write_bytes(other)
    with closing(make_env(level, config)) as env:
        with pytest.raises(UserError, match="played build"):
            restore_env(env, saved)
        del saved["ContestEnv"]["emulator"]["build"]  # as in states of before
        restore_env(env, saved)


def test_another_number_of_environments_or_other_layers_cannot_be_restored(either, make):
    level, config = either
    both = (replace(config, backtracking=goes_back) for goes_back in (False, True))
    several = [make([level], num_envs=1, config=settings) for settings in both]
    with pytest.raises(UserError, match="--num-envs"):
        several[0].restore_states([{}, {}])
    for envs in several:
        envs.reset()
    without, with_them = (envs.save_states() for envs in several)
    with pytest.raises(UserError, match="started with --backtracking: resume with the same"):
        several[0].restore_states(with_them)
    with pytest.raises(UserError, match="started with --no-backtracking: resume with the same"):
        several[1].restore_states(without)


def test_an_episode_is_cut_that_is_longer_than_a_limit_lowered_on_resuming(either, make):
    level, config = either
    first = make([level], num_envs=1, config=replace(config, episode_steps=0))
    first.reset()
    played(first, 8, seed=0)
    second = make([level], num_envs=1, config=replace(config, episode_steps=5))
    second.restore_states(first.save_states())
    ((*_, truncated, _, ended),) = played(second, 1, seed=1)
    assert truncated[0] and ended[0]["l"] == 9


def test_a_killed_worker_or_an_error_in_one_reaches_the_parent(bramble, make):
    level, config = bramble
    envs = make([level], num_envs=2, config=config)
    envs.reset()
    os.kill(envs.workers[1], signal.SIGKILL)
    with pytest.raises(UserError, match=r"worker 1 .* ended by itself"):
        for _ in range(3):
            envs.step(np.zeros(2, np.int64))
    assert envs.launcher.returncode is not None, "it ends the others"
    with pytest.raises(RuntimeError, match="closed"):
        envs.step(np.zeros(2, np.int64))
    envs = make([level], num_envs=1, config=config)
    envs.reset()
    with pytest.raises(RuntimeError, match="KeyError"):
        envs.restore_states([{"AllowBacktracking": {}}])


@pytest.mark.skipif(sys.platform != "linux", reason="its file systems take any name")
def test_recordings_in_a_folder_whose_name_is_not_utf_8_are_refused_in_a_line(make, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    envs = make("BrambleWood.Act1", EnvConfig(backend="emulator"), num_envs=1, record_dir=folder)
    with pytest.raises(UserError, match="writes only where all names are UTF-8"):
        envs.reset()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


PARENT = """
import time
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_vec
envs = make_vec("Airstriker-Genesis-v0:Level1", EnvConfig(scenario="scenario"), num_envs=2)
print(*envs.workers, flush=True)
time.sleep(600)
"""


def test_workers_leave_when_the_parent_is_killed():
    argv = [sys.executable, "-c", PARENT]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(workers) == 2
    assert soon(lambda: not any(map(is_running, workers)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_all_processes_leave_the_workers_to_the_run_which_saves(number, make):
    envs = make("BrambleWood.Act1", EnvConfig(backend="emulator"), num_envs=1)
    envs.reset()
    os.killpg(envs.launcher.pid, number)
    time.sleep(0.3)
    assert len(envs.save_states()) == 1


def test_an_error_that_nobody_hears_any_more_ends_a_worker_quietly():
    ours, theirs = Pipe()
    ours.close()
    setup = {"levels": [[("NoGame", "Level1")]], "config": {}, "rotate_every": 0}
    run_worker(theirs, {**setup, "record_dir": None}, 0)
    theirs.close()


def test_a_part_may_be_a_step_ahead_of_another(make, either):
    level, config = either
    outcomes, envs = [], make([level], num_envs=3, config=config)
    first, rest = slice(0, 1), slice(1, 3)
    for ahead in (False, True):
        envs.reset(seed=3)
        seen = []
        envs.step_async(np.array([1]), first)
        for _ in range(12):
            envs.step_async(np.array([2, 1]), rest)
            seen.append([values.tolist() for values in envs.step_wait(first)[:4]])
            if ahead:
                envs.step_async(np.array([1]), first)
            seen.append([values.tolist() for values in envs.step_wait(rest)[:4]])
            if not ahead:
                envs.step_async(np.array([1]), first)
        envs.step_wait(first)
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]
