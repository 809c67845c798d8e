import numpy as np
import pytest

from jerk.config import JerkConfig
from jerk.learner import (
    Bout,
    Shares,
    exploit_probability,
    explore,
    find_moves,
    furthest_point,
    is_kept,
    mutate,
)
from retro_agents.games.retro.config import ACTIONS
from retro_agents.ground.errors import UserError
from retro_agents.run.config import replaced
from tests.jerk.driving import NOBODY, preset_config, rng

CONFIG = replaced(JerkConfig(), timesteps=1000)
DRAWS = 4000


def walk(steps, *, rewards, config=CONFIG, seed=0, shares=NOBODY, turns=True):
    """The actions of that many steps of exploration, or the player that has to choose instead.
    rewards: maps the number of a step to its reward."""
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
    with pytest.raises(UserError, match=f"an action {lacking}"):
        find_moves(names)


@pytest.mark.parametrize(
    ("reward", "turns", "wanted"),
    [
        (1.0, True, [1] * 340),  # for ever while it pays
        (0.0, True, [1] * 100 + [0] * 70 + [1] * 100 + [0] * 70),
        (0.0, False, [1] * 340),
    ],
)
def test_a_right_bout_without_reward_is_followed_by_a_left_one(reward, turns, wanted):
    config = replaced(CONFIG, jump_probability=0.0)
    assert walk(340, rewards=lambda step: reward, config=config, turns=turns) == wanted


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
    found = [exploit_probability(CONFIG, step, best=9_999.0) for step in (0, 500, 900)]
    assert found == [0.25, 0.75, 1.0]


@pytest.mark.parametrize("best", [-300.0, 0.0, 4_000.0, 12_000.0])
@pytest.mark.parametrize("step", [0, 500, 1_000])
def test_the_entrys_exploit_probability_is_the_mean_of_what_is_earned_and_of_time_cubed(best, step):
    config = replaced(preset_config("entry-search"), timesteps=1000)
    wanted = (min(1.0, max(0.0, best / 10_000)) + (step / 1000) ** 3) / 2
    assert exploit_probability(config, step, best=best) == pytest.approx(wanted)


def test_furthest_point_is_the_first_highest_running_sum():
    assert furthest_point([1.0, 2.0, -1.0, 1.0, -5.0]) == (2, 3.0)
    assert furthest_point([0.0, 0.0, 5.0, 0.0, 1.0, -1.0]) == (5, 6.0)
    assert furthest_point([-1.0]) == (1, -1.0)
    assert furthest_point([0.0, 0.0]) == (1, 0.0)
    assert furthest_point([300.0, -4.0, 4.0 + 1e-6, -0.25, 0.25])[0] == 1  # 1e-6 is rounding
    assert furthest_point([0.06] * 5)[0] > 3  # small steps add up


def test_a_run_is_kept_above_the_ratio_of_the_best_and_always_while_there_is_none():
    assert is_kept(61.0, 100.0, ratio=0.6) and not is_kept(60.0, 100.0, ratio=0.6)
    assert is_kept(-5.0, 0.0, ratio=0.6)


@pytest.mark.parametrize("length", [0, 1, 9])
def test_mutants_are_cut_to_any_length_alike(length):
    """From nothing to the whole sequence: in the seed, a trim of 0 emptied it, actions[:-0]."""
    random, actions, facts = rng(), np.arange(length, dtype=np.uint8), {"best": 0.0, "choices": 7}
    found = [mutate(actions, random, config=CONFIG, **facts) for _ in range(DRAWS)]
    mutants = [mutant for mutant, _ in found]
    assert all(len(mutant) == intact for mutant, intact in found)
    assert all(np.array_equal(one, actions[: len(one)]) for one in mutants)
    shares = np.bincount([len(one) for one in mutants], minlength=length + 1) / DRAWS
    assert shares == pytest.approx([1 / (length + 1)] * (length + 1), abs=0.02)


def mutant_by_loops(actions, random, *, rate):
    """The entry's mutant by its rules, one step after the other, and its steps that are intact."""
    kept, length = [*enumerate(actions.tolist())], len(actions)
    if random.random() < length / 100:
        size = random.integers(0, length // 5 + 1)
        start = random.integers(0, length - size + 1)
        del kept[start : start + size]
    left = random.integers(len(kept) - len(kept) // 5, len(kept) + 1)
    kept = kept[:left]
    drawn, chances = random.integers(0, 7, left), random.random(left)
    mutant = []
    for i, (_, action) in enumerate(kept):
        new = chances[i] < rate * np.exp(-(left - 1 - i) / 100)
        mutant.append(int(drawn[i]) if new else action)
    intact = 0
    while intact < left and kept[intact] == (intact, mutant[intact]):
        intact += 1
    return mutant, intact


@pytest.mark.parametrize("length", [0, 1, 4, 60, 400])
def test_the_entrys_mutants_are_excised_cut_and_drawn_anew_by_its_rules(length):
    config, seen = preset_config("entry-search"), set()
    actions = rng(1).integers(0, 7, length).astype(np.uint8)
    for seed in range(50):
        mutant, intact = mutate(actions, rng(seed), config=config, best=5_000.0, choices=7)
        assert (mutant.tolist(), intact) == mutant_by_loops(actions, rng(seed), rate=0.1)
        assert len(mutant) >= length - length // 5 - -(-length // 5)
        seen.add(mutant.tobytes())
    assert len(seen) > 45 or length < 60


def test_bouts_to_the_right_are_shared_out_and_those_to_the_left_are_not():
    shares = Shares(policy=0.25, memory=0.5)
    actions = np.array(walk(170 * 1000, rewards=lambda step: 0.0, shares=shares), object).reshape(
        -1, 170
    )
    right, left = actions[:, :100], actions[:, 100:]
    assert ((right == "policy").all(axis=1)).mean() == pytest.approx(0.25, abs=0.03)
    assert ((right == "memory").all(axis=1)).mean() == pytest.approx(0.5, abs=0.03)
    assert not {"policy", "memory"} & set(left.ravel())
