"""BrambleDash without an emulator: equal to it, in any number, on any number of threads."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import stable_retro

from cartridge.levels.oracle import read_proof
from cartridge.levels.splits import level_names
from lab.benchmarks.equality import PARTS, SETTINGS, Pair, random_policy
from retro_agents.contract.envs import row_seeds
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.engine import CONSOLE_ONLY, Games, cartridge
from retro_agents.games.retro.integrations import file_of, kind_of
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_contest_env, make_env, make_vec
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.games.retro.native_env import allowed
from retro_agents.ground.errors import UserError
from tests.games.streams import played
from tests.runs import in_python

ACTS = [Level(GAME, name) for name in level_names()]
THREADS = """
import time, wasmtime
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from retro_agents.games.retro.engine import module_of
from retro_agents.games.retro.make import make_env

together, begin = Barrier(3), wasmtime.Engine.__init__

def slowly(*given):
    time.sleep(0.3)
    begin(*given)

def make(level):
    together.wait()
    return make_env(level).reset()[1]["level"]

wasmtime.Engine.__init__ = slowly
module_of.cache_clear()
print(*ThreadPoolExecutor(3).map(make, ["BrambleWood.Act1"] * 3))
"""


@pytest.fixture
def pair(closed):
    """Settings -> a level in both back ends."""
    return lambda config: closed(Pair(ACTS[0], config))


@pytest.fixture
def make(closed):
    """As NativeVectorEnv, with every act for each row."""

    def open_envs(num_envs, seed=3, **settings):
        levels = [ACTS[i % len(ACTS) :] + ACTS[: i % len(ACTS)] for i in range(num_envs)]
        given = {"config": EnvConfig(), "rotate_every": 0, "record_dir": None, **settings}
        return closed(NativeVectorEnv(levels, seed=row_seeds(seed, num_envs), **given))

    return open_envs


@pytest.fixture
def own(copied):
    """A level of the user's own game, a copy of this one with a single state -> it, its folder."""
    files = ("rom.md", "data.json", "metadata.json", "contest.json", "bramble.wasm", "game.pack")
    game = copied(GAME, "BrambleDash9-Genesis-v0", *files, f"{ACTS[0].state}.state")
    return Level(game.name, ACTS[0].state), game


def check_equal(pair, *, episodes):
    assert pair.first == ""
    assert all(pair.counts[part] == pair.counts["steps"] for part in PARTS)
    assert pair.counts["steps"] > 100 and pair.counts["episodes"] >= episodes


def test_proofs_look_and_end_as_in_the_emulator(pair):
    both = pair(EnvConfig(stick_probability=0.0))
    for level in (ACTS[0], ACTS[-1]):
        actions = iter(read_proof(level.state))
        policy = lambda obs, actions=actions: next(actions)  # noqa: E731
        both.play(level, policy, steps=4_500, seed=0, once=True)
    check_equal(both, episodes=2)


def test_random_play_of_many_acts_is_as_in_the_emulator(pair):
    both = pair(EnvConfig(episode_steps=70))
    for number in range(0, len(ACTS), 9):
        both.play(ACTS[number], random_policy(number), steps=100, seed=number, once=False)
    check_equal(both, episodes=7)


@pytest.mark.parametrize("name", ["rgb", "odd", "ten", "late"])
def test_other_settings_are_as_in_the_emulator(pair, name):
    config = EnvConfig(**SETTINGS[name])
    both = pair(config)
    both.play(ACTS[30], random_policy(1, config.actions), steps=120, seed=1, once=False)
    check_equal(both, episodes=0)


def test_contest_side_is_as_in_the_emulator_whatever_is_pressed(closed, tmp_path):
    config = EnvConfig(episode_steps=150)
    theirs = closed(make_contest_env(ACTS[0], replace(config, backend="emulator")))
    mine = make_contest_env(ACTS[0], config, record_dir=tmp_path)
    random = np.random.default_rng(4)
    masks = [random.integers(0, 2, 12) * (random.random() < 0.7) for _ in range(250)]
    masks += [np.eye(12, dtype=np.int64)[[4, 5, 6, 7]][pair].sum(0) for pair in ([0, 1], [2, 3])]
    returns = [0.0]
    for seed, level in enumerate((ACTS[0], ACTS[40])):
        starts = [env.reset(seed=seed, options={"level": level}) for env in (mine, theirs)]
        check_contest_side(*starts)
        for mask in masks:
            ours, other = mine.step(mask.tolist()), theirs.step(mask.astype(np.int8))
            check_contest_side(ours, other)
            returns[-1] += other[1]
            if other[2] or other[3]:
                check_contest_side(*(env.reset() for env in (mine, theirs)))
                returns.append(0.0)
    for env in (mine, theirs):
        env.close()
    assert len(returns) > 2 and mine.observation_space == theirs.observation_space
    recordings = sorted(tmp_path.glob("*.bk2"), key=lambda path: path.stem[-6:])
    assert replayed(recordings[0])[0] == pytest.approx(returns[0])


def check_contest_side(mine, theirs):
    np.testing.assert_equal(mine[:-1], theirs[:-1])
    assert mine[-1] == {k: v for k, v in theirs[-1].items() if k != CONSOLE_ONLY}


def test_buttons_are_filtered_as_by_the_emulator(closed):
    emulated = closed(make_contest_env(ACTS[0], EnvConfig(backend="emulator")))
    keeps = emulated.unwrapped.emulator.retro.data.filter_action
    for mask in range(1 << len(BUTTON_NAMES)):
        names = " ".join(n for i, n in enumerate(BUTTON_NAMES) if keeps(mask) >> i & 1)
        assert allowed(mask) == names


def test_rotating_rows_are_as_in_the_emulator(closed):
    config = EnvConfig(episode_steps=33)
    envs = [
        closed(make_vec(ACTS[5:8], replace(config, backend=b), num_envs=2, seed=9, rotate_every=50))
        for b in ("native", "emulator")
    ]
    np.testing.assert_array_equal(*(each.reset()[0] for each in envs))
    mine, theirs = (played(each, 160, seed=2) for each in envs)
    np.testing.assert_equal(mine, theirs)
    ended = [episode for row in mine for episode in row[-1]]
    assert any(episode["rotated"] for episode in ended) and len(ended) > 8


def test_threads_change_nothing(make):
    config = EnvConfig(episode_steps=40)
    runs = []
    for threads in (1, 2, 3):
        envs = make(7, config=config, threads=threads)
        assert len(envs.parts) == threads
        envs.reset()
        runs.append(played(envs, 90, seed=0))
    np.testing.assert_equal(runs[0], runs[1])
    np.testing.assert_equal(runs[0], runs[2])


def test_three_threads_can_make_the_first_environments_at_once():
    done = in_python(THREADS)
    assert done.stdout.split() == [str(ACTS[0])] * 3, done.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_a_saved_run_goes_on_exactly_whatever_was_played_in_between(make, threads):
    envs = make(3, config=EnvConfig(episode_steps=50), threads=threads)
    envs.reset()
    played(envs, 70, seed=0)
    saved = envs.save_states()
    expected = played(envs, 80, seed=1)
    played(envs, 25, seed=2)
    envs.restore_states(saved)
    np.testing.assert_equal(played(envs, 80, seed=1), expected)
    fresh = make(3, config=EnvConfig(episode_steps=50), seed=77)
    fresh.restore_states(saved)
    np.testing.assert_equal(played(fresh, 80, seed=1), expected)


def test_states_of_another_build_or_back_end_are_refused(make, closed):
    envs = make(1)
    envs.reset()
    (saved,) = envs.save_states()
    with pytest.raises(UserError, match="played build 0123 of the game"):
        envs.restore_states([{**saved, "digest": "0123"}])
    emulated = closed(make_vec(ACTS[:1], num_envs=1, config=EnvConfig(backend="emulator")))
    emulated.reset()
    with pytest.raises(UserError, match="add --backend emulator"):
        envs.restore_states(emulated.save_states())
    with pytest.raises(UserError, match="--backend native"):
        emulated.restore_states([saved])


def replayed(recording):
    """Play a .bk2 in the emulator -> (the return at its end, its frames)."""
    movie = stable_retro.Movie(str(recording))
    env = stable_retro.RetroEnv(
        GAME, state=stable_retro.State.NONE, inttype=kind_of(GAME), render_mode="rgb_array"
    )
    try:
        env.em.set_state(movie.get_state())
        frames = 0
        while movie.step():
            pressed = [movie.get_key(button, 0) for button in range(12)]
            env.em.set_button_mask(np.array(pressed, np.uint8), 0)
            env.em.step()
            frames += 1
        return env.data.lookup_value("contest_score") / 4, frames
    finally:
        env.close()


@pytest.mark.parametrize("frame_skip", [1, 4])
def test_recordings_play_back_in_the_emulator_to_the_same_return(make, tmp_path, frame_skip):
    config = EnvConfig(episode_steps=90, frame_skip=frame_skip, stick_probability=0.5)
    envs = make(2, config=config, record_dir=tmp_path / "a")
    envs.reset()
    ended = [e for row in played(envs, 40, seed=0) for e in row[-1]]
    saved = envs.save_states()
    envs.close()
    again = make(2, config=config, record_dir=tmp_path / "b")
    again.restore_states(saved)
    ended += [e for row in played(again, 150, seed=1) for e in row[-1]]
    again.close()
    found = {path.parent.name + path.name[-11:]: path for path in sorted(tmp_path.rglob("*.bk2"))}
    assert len(ended) >= 3
    numbers = [0, 0]
    for episode in ended:
        path = found[f"env-{episode['env']:02d}-{numbers[episode['env']]:06d}.bk2"]
        numbers[episode["env"]] += 1
        assert episode["level"].split(":")[1] in path.name
        total, frames = replayed(path)
        assert total == episode["r"]
        assert episode["l"] * frame_skip - 3 <= frames - 1 <= episode["l"] * frame_skip


def test_other_rules_are_the_emulators_and_other_games_need_not_be_named(own):
    level, game = own
    rules = json.loads(file_of(GAME, "contest.json").read_text())
    (game / "contest.json").write_text(json.dumps({**rules, "done": {}}))
    with pytest.raises(UserError, match=r"other rules .* add --backend emulator"):
        make_env(level)
    with pytest.raises(UserError, match=r"other rules .* add --backend emulator"):
        make_vec([ACTS[0], level], num_envs=2)
    (game / "game.pack").unlink()
    with pytest.raises(UserError, match="run together only in emulators"):
        make_vec([ACTS[0], level], num_envs=2)


@pytest.mark.parametrize("name", ["contest.json", "data.json"])
def test_a_file_with_a_slip_is_one_line(own, name):
    level, game = own
    (game / name).write_text('{"reward": {},}')
    with pytest.raises(UserError, match=rf"{name} is damaged: it is not JSON \(.* line 1"):
        make_env(level)


def test_rewards_do_not_depend_on_how_many_variables_are_named(own, closed):
    level, game = own
    info = json.loads((game / "data.json").read_text())["info"]
    few = {name: info[name] for name in ("lives", "contest_score", "level_end_bonus")}
    (game / "data.json").write_text(json.dumps({"info": few}))
    rewards = []
    for each in (ACTS[0], level):
        envs = closed(make_vec([each], num_envs=2, seed=1))
        envs.reset()
        rewards.append([envs.step(np.ones(2, int))[1] for _ in range(40)])
    np.testing.assert_array_equal(*rewards)
    assert np.any(rewards, axis=1).all()


@pytest.mark.parametrize(
    "more",
    [
        *({"address": address, "type": ">u2"} for address in (0xFF0034, 0xFEFFFE, 0xFF0033)),
        *({"address": 0xFF0000, "type": kind} for kind in ("|u1", ">u4")),
        *({"address": 0xFF0000}, {"type": ">u2"}),
    ],
)
def test_variables_that_the_engine_lacks_are_the_emulators(own, more):
    level, game = own
    content = json.loads((game / "data.json").read_text())
    content["info"]["more"] = more
    (game / "data.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"no variable 'more': add --backend emulator"):
        make_env(level)


@pytest.mark.parametrize(
    "opened",
    [
        make_env,
        lambda name: make_vec(name, num_envs=2),
        lambda name: make_env(ACTS[0], others=[name]),
    ],
)
def test_a_state_that_is_no_act_is_the_emulators(own, opened):
    level, game = own
    shutil.copy(game / f"{level.state}.state", game / "Saved.state")
    with pytest.raises(UserError, match=r"Saved is no act.* add --backend emulator"):
        opened(f"{game.name}:Saved")


def test_limits_are_said_and_large_numbers_play():
    one = cartridge(GAME)
    acts = {Level(str(copy), level.state): 0 for copy in range(71) for level in one.acts}
    many = replace(one, packs=one.packs * 71, acts=acts)
    with pytest.raises(UserError, match="4,118 acts of 71 cartridges are more than"):
        Games(many, count=1, config=EnvConfig())
    config = EnvConfig(episode_steps=5 * 10**9, backend="native")
    names = [act.state for act in ACTS[:2]]
    envs = make_vec(names, num_envs=2, seed=0, rotate_every=7 * 10**9, config=config)
    envs.reset()
    assert not envs.step(np.ones(2, np.int64))[3].any()


@pytest.mark.parametrize(
    ("level", "says"),
    [("Airstriker-Genesis-v0:Level1", "is not a level of"), ("Acct1", "unknown levels")],
)
def test_a_refused_reset_keeps_the_seed(make, level, says):
    envs, fresh = make(1), make(1)
    with pytest.raises(UserError, match=says):
        envs.reset(options={"levels": [level]})
    for each in (envs, fresh):
        each.reset()
    np.testing.assert_equal(played(envs, 40, seed=0), played(fresh, 40, seed=0))


@pytest.mark.parametrize("before", [[], [-1]])
def test_a_state_looks_alike_in_an_instance_that_has_played_other_zones(before):
    zones = [ACTS[number] for number in (40, 0, 20)]
    found, fresh = (Games(cartridge(GAME), 3, config=EnvConfig()) for _ in range(2))
    for number in before:
        fresh.start(0, ACTS[number])
    for index, level in enumerate(zones):
        found.start(index, level)
        found.seed(index, np.random.Generator(np.random.PCG64(index)))
    found.step(0, 3)
    fresh.states[:], fresh.game[:] = found.states, found.game
    fresh.observations[:] = found.observations
    for _ in range(8):
        found.step(0, 3)
        fresh.step(0, 3)
        np.testing.assert_array_equal(fresh.observations, found.observations)
