import numpy as np
import pytest

from jerk.config import JerkConfig
from jerk.episode import Plan, SearchEpisode
from jerk.learner import Bout, Shares
from retro_agents.run.config import replaced
from tests.jerk.driving import LEVEL, MOVES, drive, replay_of, search_of

PUBLISHED = replaced(JerkConfig(), timesteps=1000)
MUTATING = replaced(PUBLISHED, go_on=True, mutate=True, keep_ratio=0.6)
BY_RETURN = replaced(MUTATING, exploit_by_return=0.5)
PLAN = np.array([2, 3, 2, 3], np.uint8)


def known(config, value=20.0, *, actions=PLAN):
    """A search that knows one sequence."""
    search = search_of(config)
    search.sequences.add(LEVEL, actions, value)
    return search


def returns(search):
    """The returns of every sequence."""
    return [one.returns for one in search.sequences.levels[LEVEL]]


def mutant_of(search, actions, intact):
    return SearchEpisode(LEVEL, "mutant", Plan(search.sequences.best(LEVEL), actions, intact))


def kinds(search, env_steps, draws=2000):
    made = [search.begin(LEVEL, env_steps=env_steps).kind for _ in range(draws)]
    return {kind: made.count(kind) / draws for kind in ("explore", "replay", "mutant")}


@pytest.mark.parametrize(
    ("config", "env_steps", "wanted"),
    [
        (PUBLISHED, 250, {"explore": 0.5, "replay": 0.5, "mutant": 0.0}),
        (MUTATING, 0, {"explore": 0.0, "replay": 0.25, "mutant": 0.75}),
        (MUTATING, 750, {"explore": 0.0, "replay": 1.0, "mutant": 0.0}),
        (BY_RETURN, 0, {"explore": 0.0, "replay": 0.5, "mutant": 0.5}),
    ],
    ids=["published", "mutating early", "mutating late", "by the best return"],
)
def test_episodes_are_replays_at_the_exploit_rate(config, env_steps, wanted):
    assert kinds(known(config, 5_000.0), env_steps) == pytest.approx(wanted, abs=0.04)


def test_mutants_of_a_sequence_that_earns_all_are_not_drawn_anew():
    search = known(replaced(MUTATING, exploit_bias=0.0, cut_share=0.0, redraw=1.0), 10_000.0)
    episode = search.begin(LEVEL, env_steps=0)
    assert episode.kind == "mutant" and episode.plan.actions.tolist() == PLAN.tolist()


def test_only_the_latest_returns_count_where_the_config_says_so():
    search = known(replaced(MUTATING, latest_returns=2))
    for value in (5.0, 6.0):
        episode = replay_of(search)
        drive(search, episode, [value])
        search.end(episode, cut=False)
    assert returns(search) == [[5.0, 6.0]] and search.sequences.best(LEVEL).mean == 5.5
    again = SearchEpisode(LEVEL)  # an exploration that finds the same sequence
    for action in PLAN.tolist():
        again.add(action, 2.0)
    search.end(again, cut=False)
    assert returns(search) == [[6.0, 8.0]]


def test_published_replay_waits_for_the_end_and_counts_the_episodes_return():
    search = known(PUBLISHED, 100.0)
    episode = replay_of(search)
    played = drive(search, episode, [5.0, 5.0, 5.0, 5.0, 0.0, -3.0])
    assert played == [*PLAN, MOVES.wait, MOVES.wait]
    search.end(episode, cut=False)
    assert returns(search) == [[100.0, 17.0]]


def test_mutating_replay_goes_on_and_counts_what_the_plan_brought():
    search = known(MUTATING)
    episode = replay_of(search)
    assert drive(search, episode, [5.0] * 4 + [4.0, -3.0])[4:] == [MOVES.right] * 2
    search.end(episode, cut=False)
    assert returns(search) == [[20.0, 20.0], [24.0]]
    assert search.sequences.best(LEVEL).actions.tolist() == [*PLAN, MOVES.right]


@pytest.mark.parametrize(
    ("rewards", "cut", "wanted"),
    [
        ([5.0, 1.0], False, [20.0, 6.0]),  # it died; 6 is not above 0.6 of the best
        ([5.0] * 4 + [0.0], False, [20.0, 20.0]),  # nothing new: it counts once
        ([4.0] * 4 + [1.0], False, [20.0, 16.0]),  # 17 is above 0.6 of the best, not above it
        ([5.0], True, [20.0]),  # a change of level says nothing about it
    ],
    ids=["died early", "nothing new", "worse than the best", "cut"],
)
def test_a_replay_that_gets_no_further_adds_a_return_alone(rewards, cut, wanted):
    search = known(MUTATING)
    episode = replay_of(search)
    drive(search, episode, rewards)
    search.end(episode, cut=cut)
    assert returns(search) == [wanted]


def test_a_plan_that_brings_nothing_is_played_to_its_end():
    search = known(MUTATING, actions=np.full(300, 2, np.uint8))
    assert drive(search, replay_of(search), [0.0] * 300) == [2] * 300


def test_a_plan_is_left_after_so_many_steps_without_a_new_largest_return():
    search = known(replaced(MUTATING, leave_after=3), actions=np.full(9, 5, np.uint8))
    rewards = [4.0, -2.0, 2.0, 1.0, -1.0, 0.5, 0.5 + 1e-6, 0.0, 0.0]  # 1e-6 is rounding
    for episode in (mutant_of(search, np.full(9, 5, np.uint8), 9), replay_of(search)):
        played = drive(search, episode, rewards)
        assert played[:7] == [5] * 7 and set(played[7:]) <= {MOVES.right, MOVES.right_jump}
        assert episode.plan.reached() == 7
    search.end(episode, cut=False)
    assert returns(search) == [pytest.approx([20.0, 5.0], abs=1e-5)]


def test_a_replay_that_would_only_wait_does_not_leave_its_sequence():
    search = known(replaced(MUTATING, leave_after=3, go_on=False), actions=np.full(9, 5, np.uint8))
    assert drive(search, replay_of(search), [0.0] * 10) == [5] * 9 + [MOVES.wait]


def test_after_its_plan_a_mutant_turns_back_where_nothing_comes_and_a_replay_does_not():
    search = known(MUTATING)
    for episode, turns in ((mutant_of(search, PLAN[:2], 2), True), (replay_of(search), False)):
        assert (MOVES.left in drive(search, episode, [0.0] * 300)) == turns


def test_a_mutant_that_ends_where_its_source_was_left_says_nothing_new():
    search = known(MUTATING)
    for rewards, count in (([9.0, 9.0], 1), ([9.0, 9.0, 0.0, -4.0], 1), ([9.0, 9.0, 1.0], 2)):
        episode = mutant_of(search, PLAN[:2], 2)
        drive(search, episode, rewards)
        search.end(episode, cut=False)
        assert len(search.sequences) == count


def test_the_last_reward_of_a_plan_is_no_part_of_the_first_bout():
    """Else a replay that ends on a loss would be followed by a walk to the left."""
    search = known(MUTATING)
    assert drive(search, replay_of(search), [1.0, 1.0, 1.0, -9.0, 1.0])[4] == MOVES.right


def test_an_explored_run_is_stored_up_to_its_furthest_point():
    search, episode = search_of(PUBLISHED), SearchEpisode(LEVEL)
    played = drive(search, episode, [1.0, 2.0, -1.0, 0.0])
    kept = search.end(episode, cut=False)
    assert kept is search.sequences.best(LEVEL)
    assert kept.actions.tolist() == played[:2] and kept.returns == [3.0]


def test_a_better_mutant_becomes_the_best_and_a_much_worse_one_is_dropped():
    for value, kept, improved in ((30.0, True, True), (13.0, True, False), (12.0, False, False)):
        search = known(MUTATING)
        episode = mutant_of(search, np.array([5, 5], np.uint8), 0)
        drive(search, episode, [value, 0.0])
        assert (search.end(episode, cut=False) is not None) == kept
        assert search.counts == {"accepted": kept, "improved": improved}
        assert returns(search)[0] == [20.0]


def test_a_mutant_explores_after_its_plan_also_where_a_replay_waits():
    search = known(replaced(MUTATING, go_on=False))
    played = drive(search, mutant_of(search, PLAN[:2], 2), [0.0] * 40)
    assert played[:2] == [2, 3] and MOVES.wait not in played[2:]


@pytest.mark.parametrize("scripts", ["seven-buttons", ""])
def test_a_policy_that_stands_still_yields_to_scripts_if_there_are_any(scripts):
    config = replaced(MUTATING, rhythm=True, scripts=scripts, policy_share=1.0)
    search = search_of(config)
    played = drive(search, search.begin(LEVEL, env_steps=0), [0.0] * 40)
    assert played[:6] == ["policy"] * 6
    assert played[6:].count("policy") == (0 if scripts else 34)


@pytest.mark.parametrize("planned", [0, 3])
def test_a_bout_without_an_end_is_played_by_one_player_alone(planned):
    search = known(MUTATING)
    episode = mutant_of(search, PLAN[:planned], planned)
    episode.bout = Bout(steps_left=-1, player="policy")
    played = drive(search, episode, [0.0] * 300, shares=Shares(memory=1.0))
    assert played[:planned] == PLAN[:planned].tolist() and set(played[planned:]) == {"policy"}
