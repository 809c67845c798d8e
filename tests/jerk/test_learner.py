import numpy as np
import pytest

from experiment.config import replaced
from experiment.errors import UserError
from jerk.config import JerkConfig
from jerk.learner import (
    Bout,
    Shares,
    excise,
    exploit_probability,
    explore,
    find_moves,
    furthest_point,
    is_kept,
    mutate,
    resample,
    truncate,
)
from retro_env.config import ACTIONS

CONFIG = replaced(JerkConfig(), timesteps=1000)
DRAWS = 4000
NOBODY = Shares()


def rng(seed=0):
    return np.random.default_rng(seed)


def walk(steps, *, rewards, config=CONFIG, seed=0, shares=NOBODY, turns=True):
    """Actions of that many steps of exploration, or who is to be asked instead; rewards: of each
    step, by its number."""
    random, moves, bout, actions = rng(seed), find_moves(config.env.spec().action_names), Bout(), []
    for step in range(steps):
        action, bout = explore(bout, random, moves=moves, config=config, shares=shares, turns=turns)
        bout = bout._replace(reward=bout.reward + rewards(step))
        actions.append(bout.player if action is None else action)
    return actions


def test_moves_are_named_actions_of_both_sets():
    assert find_moves(ACTIONS[7]) == (1, 0, 6, 6, 4, ACTIONS[7])
    assert find_moves(ACTIONS[10]) == (1, 0, 9, 8, 7, ACTIONS[10])


@pytest.mark.parametrize("lacking", ["RIGHT", "LEFT", "B", "DOWN"])
def test_actions_without_a_move_are_refused_in_one_line(lacking):
    names = [name for name in ACTIONS[7] if name != lacking]
    with pytest.raises(UserError, match=f"an action {lacking}") as error:
        find_moves(names)
    assert "\n" not in str(error.value)


def test_exploration_goes_right_for_ever_while_it_pays():
    config = replaced(CONFIG, jump_probability=0.0)
    assert walk(350, rewards=lambda step: 1.0, config=config) == [1] * 350


def test_a_right_bout_without_reward_is_followed_by_a_left_one_and_that_by_a_right_one():
    config = replaced(CONFIG, jump_probability=0.0)
    actions = walk(340, rewards=lambda step: 0.0, config=config)
    assert actions == [1] * 100 + [0] * 70 + [1] * 100 + [0] * 70


def test_exploration_that_does_not_turn_goes_right_whatever_comes_of_it():
    config = replaced(CONFIG, jump_probability=0.0)
    assert walk(340, rewards=lambda step: 0.0, config=config, turns=False) == [1] * 340


def test_jumps_are_held_four_steps_and_begin_at_the_stated_rate():
    actions = np.array(walk(100_000, rewards=lambda step: 1.0))
    jumps = actions == 6
    # A jump of 4 follows a wait of mean 1/0.1 - 1 = 9 steps.
    assert jumps.mean() == pytest.approx(4 / 13, abs=0.01)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], jumps, [0]])))
    lengths = np.diff(edges)[::2]
    assert np.mean(lengths % 4 == 0) > 0.9  # others were cut by a bout's end


def test_exploration_jumps_in_its_direction_among_ten_actions():
    config = replaced(CONFIG, actions=10, jump_probability=1.0)
    actions = walk(170, rewards=lambda step: 0.0, config=config)
    assert actions == [9] * 100 + [8] * 70


def test_linear_exploit_probability_is_the_published_one():
    assert [exploit_probability(CONFIG, step) for step in (0, 500, 900)] == [0.25, 0.75, 1.0]


def test_furthest_point_is_the_first_highest_running_sum():
    assert furthest_point([1.0, 2.0, -1.0, 1.0, -5.0]) == (2, 3.0)
    assert furthest_point([0.0, 0.0, 5.0, 0.0, 1.0, -1.0]) == (5, 6.0)
    assert furthest_point([-1.0]) == (1, -1.0)
    assert furthest_point([0.0, 0.0]) == (1, 0.0)


def test_a_run_is_kept_above_the_ratio_of_the_best_and_always_while_there_is_none():
    assert is_kept(61.0, 100.0, ratio=0.6) and not is_kept(60.0, 100.0, ratio=0.6)
    assert is_kept(-5.0, 0.0, ratio=0.6)


@pytest.mark.parametrize("length", [0, 1, 4])
def test_short_sequences_are_not_excised(length):
    random = rng()
    for _ in range(50):
        np.testing.assert_array_equal(excise(length, random), np.arange(length))


@pytest.mark.parametrize("length", [0, 1, 4])
def test_short_sequences_are_truncated_to_any_length(length):
    random = rng()
    assert {truncate(length, random) for _ in range(200)} == set(range(length + 1))


def test_excision_happens_at_the_rate_of_the_length_and_takes_up_to_a_fifth():
    random = rng()
    for length in (20, 50, 200):
        cut = np.array([length - len(excise(length, random)) for _ in range(DRAWS)])
        assert (cut > 0).mean() == pytest.approx(min(1.0, length / 100), abs=0.03)
        assert cut.max() == length // 5
        assert cut[cut > 0].mean() == pytest.approx((1 + length // 5) / 2, rel=0.05)


def test_excision_takes_one_stretch_and_reaches_both_ends():
    random, starts = rng(), set()
    for _ in range(DRAWS):
        kept = excise(100, random)
        gone = np.setdiff1d(np.arange(100), kept)
        np.testing.assert_array_equal(gone, np.arange(gone[0], gone[-1] + 1))
        starts.add(int(gone[0]))
    assert min(starts) == 0 and max(starts) == 99


def test_truncation_takes_nothing_to_everything_evenly():
    random = rng()
    left = np.array([truncate(9, random) for _ in range(DRAWS)])
    assert np.bincount(left) / DRAWS == pytest.approx([0.1] * 10, abs=0.02)


def test_truncating_nothing_leaves_the_whole_sequence():
    """In the seed, a trim of 0 emptied it: actions[:-0]."""
    config = replaced(CONFIG, excise=False, resample=False)
    actions, random = np.arange(7, dtype=np.uint8), rng()
    lengths = {len(mutate(actions, random, best=0.0, config=config)[0]) for _ in range(200)}
    assert lengths == set(range(8))


@pytest.mark.parametrize("length", [0, 1])
def test_resampling_takes_the_shortest_sequences(length):
    random = rng()
    drawn = [
        resample(np.zeros(length, np.uint8), random, choices=7, best=0.0, max_return=10_000.0)
        for _ in range(1000)
    ]
    assert {one.shape for one in drawn} == {(length,)}
    if length:  # 0.2 of them drawn anew, one in seven of these the same again
        assert np.mean(drawn) / 3.5 == pytest.approx(0.2, abs=0.05)


def test_resampling_rate_falls_with_the_distance_from_the_end_and_with_the_best_return():
    random, actions = rng(), np.full(300, 9, np.uint8)
    for best, factor in ((0.0, 0.2), (5000.0, 0.1)):
        changed = np.mean(
            [
                resample(actions, random, choices=7, best=best, max_return=10_000.0) != 9
                for _ in range(DRAWS)
            ],
            axis=0,
        )
        expected = factor * np.exp(-np.arange(300)[::-1] / 100)
        assert np.abs(changed - expected).max() < 0.03
    np.testing.assert_array_equal(
        resample(actions, random, choices=7, best=10_000.0, max_return=10_000.0), actions
    )


def test_resampling_leaves_its_argument_alone_and_draws_every_action():
    actions = np.zeros(2000, np.uint8)
    drawn = resample(actions, rng(), choices=7, best=0.0, max_return=10_000.0)
    assert not actions.any() and set(drawn.tolist()) == set(range(7))


@pytest.mark.parametrize("length", [0, 1])
def test_mutating_takes_the_shortest_sequences(length):
    random = rng()
    for _ in range(100):
        mutant, intact = mutate(np.zeros(length, np.uint8), random, best=0.0, config=CONFIG)
        assert 0 <= intact <= len(mutant) <= length


def test_intact_counts_what_stands_before_the_first_change():
    random, actions = rng(), rng(1).integers(0, 7, 400).astype(np.uint8)
    for _ in range(200):
        mutant, intact = mutate(actions, random, best=0.0, config=CONFIG)
        np.testing.assert_array_equal(mutant[:intact], actions[:intact])
    off = replaced(CONFIG, excise=False, truncate=False, resample=False)
    whole, intact = mutate(actions, random, best=0.0, config=off)
    assert intact == 400
    np.testing.assert_array_equal(whole, actions)


def test_each_mutation_can_be_switched_off():
    random, actions = rng(), np.arange(200, dtype=np.uint8)
    for name in ("excise", "truncate", "resample"):
        flags = dict.fromkeys(("excise", "truncate", "resample"), False) | {name: True}
        config = replaced(CONFIG, **flags)
        mutants = [mutate(actions, random, best=0.0, config=config)[0] for _ in range(50)]
        whole = [len(m) == 200 for m in mutants]
        prefix = [np.array_equal(m, actions[: len(m)]) for m in mutants]
        assert all(whole) == (name == "resample")
        assert all(prefix) == (name == "truncate")


def test_bouts_to_the_right_are_shared_out_and_those_to_the_left_are_not():
    shares = Shares(policy=0.25, memory=0.5)
    actions = np.array(walk(170 * 2000, rewards=lambda step: 0.0, shares=shares), object).reshape(
        -1, 170
    )
    right, left = actions[:, :100], actions[:, 100:]
    assert ((right == "policy").all(axis=1)).mean() == pytest.approx(0.25, abs=0.03)
    assert ((right == "memory").all(axis=1)).mean() == pytest.approx(0.5, abs=0.03)
    assert not {"policy", "memory"} & set(left.ravel())
