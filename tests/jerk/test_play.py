import numpy as np
import pytest

from jerk.config import JerkConfig
from jerk.learner import Bout, Shares, find_moves
from jerk.memory import Sequences
from jerk.play import Plan, Play, begin, finish
from retro_agents.games.retro.config import SEVEN
from retro_agents.run.config import replaced

PUBLISHED = replaced(JerkConfig(), timesteps=1000)
MUTATING = replaced(PUBLISHED, go_on=True, mutate=True, keep_ratio=0.6)
MOVES = find_moves(SEVEN)
PLAN = np.array([2, 3, 2, 3], np.uint8)


def rng(seed=0):
    return np.random.default_rng(seed)


def known(value=100.0):
    sequences = Sequences(10)
    sequences.add("level", PLAN, value)
    return sequences


def play_out(play, rewards, config):
    random, actions, none = rng(), [], Sequences(1)
    for reward in rewards:
        action, _ = play.next_action(
            random, moves=MOVES, config=config, shares=Shares(), sequences=none
        )
        play.add(action, reward)
        actions.append(action)
    return actions


def replay(sequences):
    return Play("level", "replay", Plan.of(sequences.best("level")))


def mutant_of(sequences, actions, intact):
    return Play("level", "mutant", Plan(sequences.best("level"), actions, intact))


def kinds(config, env_steps, sequences, draws=2000):
    random = rng()
    made = [
        begin("level", sequences, random, moves=MOVES, config=config, env_steps=env_steps).kind
        for _ in range(draws)
    ]
    return {kind: made.count(kind) / draws for kind in ("explore", "replay", "mutant")}


def test_first_episode_explores_and_the_second_need_not():
    for config in (PUBLISHED, MUTATING):
        assert kinds(config, 999, Sequences(3))["explore"] == 1.0
        assert kinds(config, 999, known())["replay"] == 1.0


def test_published_agent_replays_at_the_exploit_rate_and_explores_otherwise():
    shares = kinds(PUBLISHED, 250, known())
    assert shares["replay"] == pytest.approx(0.5, abs=0.04) and shares["mutant"] == 0.0


def test_mutating_agent_plays_mutants_first_and_plain_replays_in_the_end():
    early, late = kinds(MUTATING, 0, known()), kinds(MUTATING, 750, known())
    assert early["explore"] == late["explore"] == 0.0
    assert early["mutant"] == pytest.approx(0.75, abs=0.04)
    assert late["replay"] == 1.0


def test_published_replay_waits_for_the_end_and_counts_the_episodes_return():
    sequences = known()
    play = replay(sequences)
    actions = play_out(play, [5.0, 5.0, 5.0, 5.0, 0.0, -3.0], PUBLISHED)
    assert actions == [*PLAN, MOVES.wait, MOVES.wait]
    finish(play, sequences, config=PUBLISHED, cut=False)
    assert sequences.best("level").returns == [100.0, 17.0] and len(sequences) == 1


def test_mutating_replay_goes_on_and_counts_what_the_plan_brought():
    sequences = known(20.0)
    play = replay(sequences)
    actions = play_out(play, [5.0, 5.0, 5.0, 5.0, 4.0, -3.0], MUTATING)
    assert actions[4:] == [MOVES.right] * 2
    finish(play, sequences, config=MUTATING, cut=False)
    assert sequences.levels["level"][0].returns == [20.0, 20.0]
    longer = sequences.best("level")
    assert longer.returns == [24.0] and longer.actions.tolist() == [*PLAN, MOVES.right]


def test_a_replay_that_dies_early_counts_what_it_reached():
    sequences = known(20.0)
    play = replay(sequences)
    play_out(play, [5.0, 1.0], MUTATING)
    finish(play, sequences, config=MUTATING, cut=False)
    assert sequences.levels["level"][0].returns == [20.0, 6.0]
    assert len(sequences) == 1  # 6 is not above 0.6 of the best


def test_a_replay_without_anything_new_counts_once():
    sequences = known(20.0)
    play = replay(sequences)
    play_out(play, [5.0, 5.0, 5.0, 5.0, 0.0], MUTATING)
    finish(play, sequences, config=MUTATING, cut=False)
    assert [s.returns for s in sequences.levels["level"]] == [[20.0, 20.0]]


def test_a_replay_cut_by_a_change_of_level_says_nothing_about_its_sequence():
    sequences = known(20.0)
    play = replay(sequences)
    play_out(play, [5.0], MUTATING)
    finish(play, sequences, config=MUTATING, cut=True)
    assert sequences.levels["level"][0].returns == [20.0]


def test_a_plan_that_brings_nothing_is_played_to_its_end():
    sequences = Sequences(10)
    sequences.add("level", np.full(300, 2, np.uint8), 50.0)
    assert play_out(replay(sequences), [0.0] * 300, MUTATING) == [2] * 300


def test_after_its_plan_a_mutant_turns_back_where_nothing_comes_and_a_replay_does_not():
    sequences = known(20.0)
    mutant = mutant_of(sequences, PLAN[:2], 2)
    for play, turns in ((mutant, True), (replay(sequences), False)):
        assert (MOVES.left in play_out(play, [0.0] * 300, MUTATING)) == turns


def test_a_mutant_that_ends_where_its_source_was_left_says_nothing_new():
    sequences = known(20.0)
    for rewards, count in (([9.0, 9.0], 1), ([9.0, 9.0, 0.0, -4.0], 1), ([9.0, 9.0, 1.0], 2)):
        play = mutant_of(sequences, PLAN[:2], 2)
        play_out(play, rewards, MUTATING)
        finish(play, sequences, config=MUTATING, cut=False)
        assert len(sequences) == count


def test_the_last_reward_of_a_plan_is_no_part_of_the_first_bout():
    """Else a replay that ends on a loss would be followed by a walk to the left."""
    sequences = known(20.0)
    actions = play_out(replay(sequences), [1.0, 1.0, 1.0, -9.0, 1.0], MUTATING)
    assert actions[4] == MOVES.right


def test_an_explored_run_is_stored_up_to_its_furthest_point():
    sequences, play = Sequences(10), Play("level")
    actions = play_out(play, [1.0, 2.0, -1.0, 0.0], PUBLISHED)
    kept, _ = finish(play, sequences, config=PUBLISHED, cut=False)
    best = sequences.best("level")
    assert kept is best and best.actions.tolist() == actions[:2] and best.returns == [3.0]


def test_a_better_mutant_becomes_the_best_and_a_much_worse_one_is_dropped():
    for value, kept, improved in ((30.0, True, True), (13.0, True, False), (12.0, False, False)):
        sequences = known(20.0)
        play = mutant_of(sequences, np.array([5, 5], np.uint8), 0)
        play_out(play, [value, 0.0], MUTATING)
        became, is_best = finish(play, sequences, config=MUTATING, cut=False)
        assert (became is not None, is_best) == (kept, improved)
        assert sequences.levels["level"][0].returns == [20.0]


def test_a_mutant_explores_after_its_plan_also_where_a_replay_waits():
    config = replaced(MUTATING, go_on=False)
    best = known().best("level")
    for kind, waits in (("mutant", False), ("replay", True)):
        play = Play("level", kind, Plan(best, best.actions[:2], 2))
        played = play_out(play, [0.0] * 40, config)
        assert played[:2] == [2, 3] and (set(played[2:]) == {MOVES.wait}) == waits


@pytest.mark.parametrize("planned", [0, 3])
def test_a_bout_without_an_end_is_played_by_one_player_alone(planned):
    best = known().best("level")
    play = Play("level", "mutant", Plan(best, best.actions[:planned], planned))
    play.bout, random, played = Bout(steps_left=-1, player="policy"), rng(), []
    for _ in range(300):
        shares, none = Shares(memory=1.0), Sequences(1)
        played.append(
            play.next_action(random, moves=MOVES, config=MUTATING, shares=shares, sequences=none)
        )
        play.add(0, 0.0)
    assert played[:planned] == [(int(action), "rule") for action in PLAN[:planned]]
    assert set(played[planned:]) == {(None, "policy")}


def test_saved_play_goes_on_alike():
    sequences = known(20.0)
    play = replay(sequences)
    play_out(play, [5.0] * 6, MUTATING)
    copy = Play.restore(play.save(), sequences)
    assert copy.plan.source is play.plan.source and copy.save() == play.save()
    one, other = (play_out(p, [0.0] * 40, MUTATING) for p in (play, copy))
    assert one == other
