import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded

from retro_agents.contract.envs import ended_episodes, row_seeds
from retro_agents.games import families
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import EXPLORATION, MODE_GAMES
from retro_agents.games.procgen.levels import level_sets
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.errors import UserError
from tests.games.streams import played
from tests.runs import in_python


def seeds_of(envs, steps):
    envs.reset(seed=0)
    rows = played(envs, steps, seed=0)
    return {int(level.partition(":")[2]) for *_, levels, _ in rows for level in levels}


def test_neighbouring_seeds_play_other_levels():
    envs = make_vec("coinrun", num_envs=4, config=ProcgenConfig())
    for first in (0, 100_000):
        envs.reset(seed=range(first, first + 4))
        assert len(set(envs.levels)) == 4
    before = envs.levels[0]
    envs.reset(seed=[None, 100_001, 2**40, 2**40])
    assert envs.levels[0] not in (before, *envs.levels[1:])


def test_levels_and_protocols_are_of_the_range_that_was_asked_for():
    config = ProcgenConfig(start_level=40, num_levels=5)
    sets = level_sets(config, test_levels="auto")
    train = seeds_of(make_vec("bigfish,bossfight", num_envs=16, config=sets["train"]), 500)
    test = seeds_of(make_vec("bigfish,bossfight", num_envs=16, config=sets["test"]), 500)
    assert train == set(range(40, 45))
    assert len(test) > 16 and min(test) >= 1_000_000
    config = ProcgenConfig(num_levels=200)
    assert level_sets(config, test_levels="all")["test"] == ProcgenConfig()
    assert level_sets(ProcgenConfig(), test_levels="auto")["test"] == ProcgenConfig()
    with pytest.raises(UserError, match="unseen"):
        level_sets(ProcgenConfig(), test_levels="unseen")
    config = ProcgenConfig(distribution_mode="exploration")
    for protocol in ("auto", "unseen"):
        test = level_sets(config, test_levels=protocol)["test"]
        assert test.distribution_mode == "hard" and test.num_levels > 1_000_000
        assert test.start_level > max(EXPLORATION.values())
    every = level_sets(config, test_levels="all")["test"]
    assert every == ProcgenConfig(distribution_mode="hard")


@pytest.mark.parametrize(
    ("games", "options"),
    [
        ("bigfish,starpilot", {"num_levels": 200}),
        ("bossfight", {"frames": "0,-3", "stick_probability": 0.3}),
        ("miner,coinrun", {"frames": "0,-7", "timeouts": "end"}),
    ],
)
def test_a_restored_game_goes_on_for_300_equal_steps(games, options):
    config = ProcgenConfig(**options)
    one = make_vec(games, num_envs=4, config=config, seed=3)
    one.reset()
    played(one, 400, seed=1)
    states = one.save_states()
    other = make_vec(games, num_envs=4, config=config, seed=9)
    other.reset()
    played(other, 20, seed=5)
    shown = other.restore_states(states)
    np.testing.assert_array_equal(shown, one.frames.observations(np.arange(4)))
    np.testing.assert_equal(played(one, 300, seed=0), played(other, 300, seed=0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_levels": 3}, "--num-levels"),
        ({"distribution_mode": "hard"}, "--distribution-mode easy"),
        ({"generated_assets": True}, "--no-generated-assets"),
        ({"restrict_themes": True}, "--no-restrict-themes"),
        ({}, "cannot be replayed"),
    ],
)
def test_states_of_other_levels_or_of_another_kind_of_game_are_refused(change, words):
    envs = make_vec("leaper", num_envs=2, config=ProcgenConfig())
    envs.reset()
    played(envs, 20, seed=1)
    states = envs.save_states()
    if not change:  # an episode that ends before it was saved
        states[0]["actions"] = bytes([5] * 600)
    other = make_vec("leaper", num_envs=2, config=ProcgenConfig(**change))
    with pytest.raises(UserError, match=words):
        other.restore_states(states)
    with pytest.raises(UserError, match="--num-envs"):
        other.restore_states(states[:1])


def test_threads_and_processes_change_nothing():
    def made(part=slice(None), **more):
        config = ProcgenConfig(stick_probability=0.2, **more)
        return make_vec("bigfish,chaser", num_envs=6, config=config, seed=4, part=part)

    whole, threads = made(), made(env_threads=2)
    parts = [made(slice(0, 3)), made(slice(3, 6))]
    first = [envs.reset()[0] for envs in (whole, threads)]
    np.testing.assert_array_equal(*first)
    np.testing.assert_array_equal(first[0], np.concatenate([envs.reset()[0] for envs in parts]))
    rows, rng = played(whole, 200, seed=0), np.random.default_rng(0)
    np.testing.assert_equal(rows, played(threads, 200, seed=0))
    for obs, rewards, *_ in rows:
        actions = np.split(rng.integers(15, size=6), 2)  # as `played` draws them
        halves = [envs.step(half) for envs, half in zip(parts, actions, strict=True)]
        np.testing.assert_array_equal(obs, np.concatenate([half[0] for half in halves]))
        np.testing.assert_array_equal(rewards, np.concatenate([half[1] for half in halves]))


@pytest.mark.parametrize("timeouts", ["cut", "end"])
def test_a_time_limit_cuts_an_episode_or_ends_it(timeouts):
    envs = make_vec("maze", num_envs=2, config=ProcgenConfig(timeouts=timeouts))
    envs.reset(seed=0)
    for _ in range(500):
        *_, terminated, truncated, infos = envs.step(np.full(2, 4))  # stands still
    assert terminated.tolist() == [timeouts == "end"] * 2
    assert truncated.tolist() == [timeouts == "cut"] * 2
    assert [(e["l"], e["finished"]) for e in ended_episodes(infos)] == [(500, False)] * 2


def test_rewards_are_shaped_for_learning_and_reported_raw():
    config = ProcgenConfig(shape_rewards=True, reward_scale=2.0)
    shaped = config.learning_rewards(np.array([10.0, -10.0, 0.0]))
    np.testing.assert_allclose(shaped, [2 * 2.3266, -2 * 2.3266, 0.0], atol=1e-4)
    envs = make_vec("bigfish", num_envs=8, config=config)
    envs.reset(seed=0)
    steps = played(envs, 400, seed=0)
    rewards = np.concatenate([rewards for _, rewards, *_ in steps])
    raw = np.arange(3.0)  # fish are eaten singly, or two at once
    of_raw = 2 * (np.sqrt(raw + 1.0) - 1.0) + 2 * 0.001 * raw
    np.testing.assert_allclose(sorted(set(rewards.round(5))), of_raw, atol=1e-4)
    assert all(e["r"] == round(e["r"]) for *_, episodes in steps for e in episodes)


def test_rewards_are_clipped_for_learning_after_shaping_and_before_scaling():
    config, raw = ProcgenConfig(clip_rewards=1.0, reward_scale=2.0), np.array([10.0, -10.0, 0.3])
    np.testing.assert_allclose(config.learning_rewards(raw), [2.0, -2.0, 0.6])
    shaped = ProcgenConfig(clip_rewards=1.0, shape_rewards=True)
    np.testing.assert_allclose(shaped.learning_rewards(raw), [1.0, -1.0, 0.14048], atol=1e-4)
    raw_rewards = config.with_raw_rewards().learning_rewards(raw)
    np.testing.assert_allclose(raw_rewards, raw)


def test_a_stuck_action_is_the_one_before():
    free, stuck = (
        make_vec("coinrun", num_envs=2, config=ProcgenConfig(stick_probability=chance))
        for chance in (0.0, 1.0)
    )
    np.testing.assert_array_equal(free.reset(seed=1)[0], stuck.reset(seed=1)[0])
    for _ in range(20):
        np.testing.assert_array_equal(free.step(np.full(2, 4))[0], stuck.step(np.full(2, 7))[0])


@pytest.mark.parametrize("mode", MODE_GAMES)
def test_every_mode_plays_the_games_that_have_it(mode):
    games = MODE_GAMES[mode]
    envs = make_vec(",".join(games), num_envs=len(games),
                    config=ProcgenConfig(distribution_mode=mode))  # fmt: skip
    obs, _ = envs.reset(seed=0)
    assert obs.shape == (len(games), 3, 64, 64)
    if mode == "exploration":
        assert envs.levels == [f"{game}:{EXPLORATION[game]}" for game in games]


def test_what_procgen_has_not_is_one_line():
    for levels, options, words in (
        ("procgen:bigfish", {"distribution_mode": "memory"}, "caveflyer"),
        ("procgen:coinrun,maze,heist", {}, "--num-envs"),
        ("procgen:maze,heist,maze", {}, "names maze twice"),
    ):
        with pytest.raises(UserError, match=words) as error:
            families.make(levels, ProcgenConfig(**options), num_envs=2)
        assert r"\n" not in str(error.value)
    for options in ({"start_level": 3},
                    {"distribution_mode": "exploration", "num_levels": 2},
                    {"start_level": 2**31 - 2, "num_levels": 2}):  # fmt: skip
        with pytest.raises(UserError):
            ProcgenConfig(**options)
    with pytest.raises(UserError, match="--rotate-every"):
        families.make("procgen:maze", ProcgenConfig(), num_envs=2, rotate_every=7)


def test_nothing_is_said_where_a_game_is_made():
    code = (
        "from retro_agents.games.procgen.config import ProcgenConfig as Config; "
        "from retro_agents.games.procgen.vector import make_vec; "
        "make_vec('coinrun', num_envs=1, config=Config()).reset()"
    )
    done = in_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_picture_follows_its_settings():
    def first(**options):
        return make_vec("coinrun", num_envs=4, config=ProcgenConfig(**options)).reset(seed=0)[0]

    plain = first()
    for options in ({"backgrounds": False}, {"monochrome": True}, {"generated_assets": True},
                    {"velocity_info": True}, {"restrict_themes": True}):  # fmt: skip
        assert not np.array_equal(first(**options), plain), options
    whole, followed = (
        make_vec("jumper", num_envs=4, config=ProcgenConfig(centre_agent=c)).reset(seed=0)[0]
        for c in (False, True)
    )
    assert not np.array_equal(whole, followed)


def test_games_are_dealt_out_in_turn_and_steps_that_cannot_be_say_so():
    envs = make_vec("maze,heist", num_envs=5, config=ProcgenConfig(), seed=2)
    assert envs.games == ["maze", "heist", "maze", "heist", "maze"]
    assert envs.seeds == row_seeds(2, 5)
    envs.reset(seed=0)
    played(envs, 5, seed=0)
    _, infos = envs.reset()  # it reports the episodes that it cuts
    assert [(e["l"], e["finished"]) for e in ended_episodes(infos)] == [(5, False)] * 5
    envs = make_vec("maze", num_envs=2, config=ProcgenConfig())
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros(2, int))
    envs.reset()
    with pytest.raises(InvalidAction, match="0 to 14"):
        envs.step(np.array([3, 15]))
    envs.close()
    with pytest.raises(RuntimeError, match="closed"):
        envs.step(np.zeros(2, int))
