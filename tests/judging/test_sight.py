"""A test of sight, on a toy whose pictures say everything."""

from unittest.mock import Mock

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from retro_agents.contract.envs import EnvSpec, row_seeds
from retro_agents.contract.episodes import even_rows, play_episodes
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import parse_levels
from retro_agents.games.retro.make import make_vec
from retro_agents.judging.sight import APART, MOMENTS, PLAYS, Shuffled, measure

ACTIONS, LENGTH = 4, 25


class Signs(VectorEnv):
    """Each picture uint8 [1,1,1] names the action that pays 1; an episode has LENGTH of them."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  Gymnasium's form
    env_spec = EnvSpec("signs", (1, 1, 1), 1, tuple("abcd"), 1, {})
    resets_rows = False

    def __init__(self, num_envs, *, pays=None):
        self.num_envs, self.pays = num_envs, pays

    def signs(self):
        drawn = self.rng.integers(ACTIONS, size=(self.num_envs, 1, 1, 1))
        return (drawn if self.pays is None else np.full_like(drawn, self.pays)).astype(np.uint8)

    def reset(self, *, seed=None, options=None):
        self.rng, self.steps, self.sums = np.random.default_rng(seed), 0, np.zeros(self.num_envs)
        self.shown = self.signs()
        return self.shown, {}

    def step(self, actions):
        rewards = (actions == self.shown.ravel()).astype(float)
        self.steps, self.sums = self.steps + 1, self.sums + rewards
        over, infos = self.steps % LENGTH == 0, {}
        if over:
            for row in range(self.num_envs):
                infos = self._add_info(infos, {"episode_record": {"r": self.sums[row]}}, row)
            self.sums = np.zeros(self.num_envs)
        self.shown = self.signs()
        ends = np.full(self.num_envs, over)
        return self.shown, rewards, ends, np.zeros_like(ends), infos


class Reader:
    """Does what its picture says; or draws with fixed chances. Keeps what it did."""

    def __init__(self, chances=None):
        self.chances, self.rng = chances, np.random.default_rng(0)
        self.did, self.plays = [], set()

    def act(self, obs, *, play=None, starts=None):
        self.plays.add(play)
        actions = obs.ravel().astype(np.int64)
        if self.chances is not None:
            actions = self.rng.choice(ACTIONS, size=len(obs), p=self.chances)
        self.did.append(actions)
        return actions


def test_no_row_is_shown_a_picture_of_its_own():
    rows, calls = 5, 3 * MOMENTS * APART
    shuffled, lags, sources = Shuffled(np.random.default_rng(0)), set(), set()
    for call in range(calls):
        obs = np.empty((rows, 1, 1, 2), np.int64)
        obs[..., 0], obs[..., 1] = np.arange(rows)[:, None, None], call
        shown = shuffled(obs)[:, 0, 0]
        assert (shown[:, 0] != np.arange(rows)).all()
        assert sorted(shown[:, 0]) == list(range(rows))  # each is shown once
        sources |= set(enumerate(shown[:, 0].tolist()))
        lags |= {call - moment for moment in shown[:, 1].tolist()}
    assert len(sources) == rows * (rows - 1)
    assert min(lags) == 0 and (MOMENTS - 1) * APART <= max(lags) < MOMENTS * APART


def test_where_pictures_say_everything_others_are_worth_as_much_as_none():
    reader = Reader()
    sight = measure(reader, lambda: Signs(10), episodes=40, seed=3, play="draw")
    assert reader.plays == {"draw"} and tuple(sight.played) == PLAYS
    assert all(sight.returns(play).shape == (10, 4) for play in PLAYS)
    assert (sight.returns("seeing") == LENGTH).all()
    chance = LENGTH / ACTIONS
    for name in PLAYS[1:]:
        error = sight.returns(name).std() / np.sqrt(40)
        assert 0 < error < 1 and abs(sight.returns(name).mean() - chance) < 4 * error


def test_frequencies_are_of_what_it_did_while_it_saw_and_drawn_by_blindly():
    reader = Reader()
    sight = measure(reader, lambda: Signs(4, pays=2), episodes=8, seed=0, play="best")
    assert reader.plays == {"best"}
    assert sight.frequencies.tolist() == [0, 0, 1, 0]
    assert (sight.returns("blind") == LENGTH).all()
    assert len(reader.did) == 2 * 2 * LENGTH  # it is not asked when blind
    reader = Reader()
    sight = measure(reader, lambda: Signs(4), episodes=8, seed=0, play="best")
    seen = np.concatenate(reader.did[: 2 * LENGTH])
    np.testing.assert_allclose(sight.frequencies, np.bincount(seen) / len(seen))


def test_an_agent_that_looks_at_nothing_earns_the_same_in_all_three_ways():
    chances = [0.1, 0.2, 0.6, 0.1]
    sight = measure(Reader(chances), lambda: Signs(20, pays=2), episodes=80, seed=1, play="draw")
    np.testing.assert_allclose(sight.frequencies, chances, atol=0.03)
    for returns in map(sight.returns, PLAYS):
        assert abs(returns.mean() - 0.6 * LENGTH) < 4 * returns.std() / np.sqrt(80)


def test_all_ways_play_the_levels_of_a_seed_that_decides_them():
    envs = [Signs(4) for _ in PLAYS]
    for one in envs:
        one.reset = Mock(wraps=one.reset)
    measure(Reader(), Mock(side_effect=envs), episodes=4, seed=3, play="draw")
    assert [one.reset.call_args.kwargs["seed"] for one in envs] == row_seeds(3, 1) * 3


def test_episodes_without_a_new_highest_return_are_cut():
    left_right = np.array([0, 1])
    envs = make_vec(parse_levels("bramble-test")[:2], num_envs=2, config=EnvConfig())
    played = play_episodes(lambda *_, **__: left_right, envs, episodes=4, seed=0, patience=20)
    envs.close()
    assert [one["l"] for one in played[:2]] == [20, 20]
    assert [one["level"] for one in played] == [str(one) for one in envs.levels for _ in (0, 1)]
    assert all(one["l"] > 20 and one["r"] > 0 for one in played[2:])


def test_environments_share_episodes_out_evenly():
    assert [even_rows(n) for n in (200, 32, 67)] == [50, 32, 1]
    assert [even_rows(6, most=most) for most in (0, 1, 4, 5, 6)] == [1, 1, 3, 3, 6]
