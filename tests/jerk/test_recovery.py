import numpy as np
import pytest

from jerk.episode import Plan, SearchEpisode
from jerk.memory import SequenceMemory
from jerk.recovery import COST, GOOD, LEFT, MORE, NEAR, Place, SequencePool, places
from jerk.slots import Slot, Variant
from retro_agents.run.config import replaced
from tests.jerk.driving import LEVEL, MOVES, drive, preset_config, rng, search_of

JUMP = MOVES.right_jump
CONFIG = preset_config("recovering")


def remembered(count=5, *, length=120, seed=1, capacity=100):
    """Sequences of random actions, with rewards that differ."""
    random, sequences = rng(seed), SequenceMemory(capacity)
    for _ in range(count):
        actions = random.choice([MOVES.right, JUMP], length, p=[0.8, 0.2]).astype(np.uint8)
        rewards = random.uniform(0.0, 20.0, length).astype(np.float32)
        sequences.add(LEVEL, actions, float(rewards.sum()), rewards=rewards)
    return sequences


def slow_places(actions, rewards):
    gained, found = 0.0, []
    for step in range(len(actions)):
        since = 12
        for back in range(1, 13):
            if step - back >= 0 and actions[step - back] == JUMP:
                since = back - 1
                break
        found.append((gained, float(rewards[step - 1]) if step else 0.0, since))
        gained += float(rewards[step])
    return found


def slow_nearest(sequences, place):
    """The loop over every step of every sequence."""
    best = max(one.mean for one in sequences)
    least, answer = COST, None
    for one in sequences:
        if one.mean < GOOD * best or float(np.sum(one.rewards)) <= place.gained + MORE:
            continue
        for step, (gained, reward, since) in enumerate(slow_places(one.actions, one.rewards)):
            if step >= len(one.actions) - LEFT or abs(gained - place.gained) > NEAR:
                continue
            cost = abs(gained - place.gained) / 12 + abs(reward - place.reward) / 6
            cost += abs(since - place.since_jump) / 4 - (one.mean / best - 1)
            if cost < least:
                least, answer = cost, (one.number, step)
    return answer


def test_nearest_step_is_what_a_loop_over_all_finds():
    sequences, random = remembered(), rng(7)
    found, pool = sequences.levels[LEVEL], SequencePool(sequences.levels[LEVEL], jump=JUMP)
    best, hits = sequences.best(LEVEL).mean, 0
    for _ in range(200):
        place = Place(random.uniform(-50, 1200), random.uniform(0, 20), int(random.integers(0, 13)))
        got, wanted = pool.nearest(place, best=best), slow_nearest(found, place)
        assert (got and (got[0].number, got[1])) == wanted
        hits += wanted is not None
    assert 50 < hits < 200


def test_the_place_of_an_episode_is_that_of_the_recorded_step():
    best, episode = remembered(1).best(LEVEL), SearchEpisode(LEVEL)
    recorded = slow_places(best.actions, best.rewards)
    steps = zip(recorded, best.actions.tolist(), best.rewards.tolist(), strict=True)
    for place, action, reward in steps:
        assert tuple(episode.place(jump=JUMP)) == pytest.approx(place)
        episode.add(action, reward)


def test_the_pool_follows_what_is_remembered():
    sequences = remembered(1, capacity=2)
    first = sequences.best(LEVEL)
    place = Place(*(float(part[50]) for part in places(first.actions, first.rewards, jump=JUMP)))
    assert sequences.nearest(LEVEL, place, jump=JUMP) == (first, 50)
    better = first.rewards + np.float32(1.0)
    sequences.add(LEVEL, first.actions[::-1], first.mean + 120.0, rewards=better)
    assert sequences.nearest(LEVEL, place, jump=JUMP) == (first, 50)
    best = sequences.add(LEVEL, first.actions[1:], first.mean + 240.0, rewards=first.rewards[1:])
    assert first not in sequences.levels[LEVEL]  # which are as many as before
    place = place._replace(gained=place.gained - float(first.rewards[0]))
    assert sequences.nearest(LEVEL, place, jump=JUMP) == (best, 49)


def test_a_plan_that_is_thrown_back_again_and_again_is_left():
    plan = Plan.of(remembered(1, length=20).best(LEVEL))
    steps = 0
    while plan.next_action() is not None:
        plan.pointer = 6 if plan.pointer == 10 else plan.pointer
        steps += 1
        assert steps < 200
    assert 20 < steps < 60


def replayed(count=1):
    """A search that knows sequences -> it, the best one, and an episode that replays it."""
    search = search_of(replaced(CONFIG, exploit_bias=1.0))
    search.sequences.restore(remembered(count).save())
    episode = search.begin(LEVEL, env_steps=0)
    assert episode.kind == "replay"
    return search, search.sequences.best(LEVEL), episode


def test_a_replay_that_goes_as_expected_plays_its_sequence_to_the_end():
    search, best, episode = replayed(3)
    assert drive(search, episode, best.rewards.tolist()) == best.actions.tolist()
    drive(search, episode, [0.0, 0.0])
    search.end(episode, cut=False)
    assert best.ends == [len(best.actions)] and best.slots == []
    assert best.returns[1] == pytest.approx(best.returns[0], rel=1e-5)


@pytest.mark.parametrize("kind", ["replay", "mutant"])
def test_an_episode_that_left_its_way_goes_on_from_a_like_step_of_another_sequence(kind):
    search, best, _ = replayed()
    replays = float(kind == "replay")
    search.config = replaced(search.config, exploit_bias=replays, exploit_growth=0.0, cut_share=0.0)
    rewards, actions = best.rewards.copy(), best.actions.copy()
    rewards[40] += 100.0  # the other knows the place that the episode is thrown to
    actions[60:] = MOVES.left
    other = search.sequences.add(LEVEL, actions, best.mean - 1.0, rewards=rewards)
    episode = search.begin(LEVEL, env_steps=0)
    assert episode.kind == kind and episode.plan.intact == len(best.actions)
    played = drive(search, episode, rewards.tolist())
    assert played[:60] == best.actions[:60].tolist()
    assert set(played[60:]) == {MOVES.left} and episode.plan.actions is other.actions
    missed = episode.plan.missed
    assert 41 < missed <= 50
    search.end(episode, cut=False)
    assert best.ends == [missed] * (kind == "replay") == [slot.last for slot in best.slots]
    assert all(slot.variants[0].failures == 1 for slot in best.slots)


def test_a_replay_that_nobody_knows_how_to_go_on_with_explores():
    search, best, episode = replayed()
    rewards = best.rewards.copy()
    rewards[30:] = -20.0
    played = drive(search, episode, rewards.tolist())
    assert episode.plan.departed is not None and 30 < episode.plan.departed < 45
    assert played[:30] == best.actions[:30].tolist()
    assert len(episode.plan.actions) == episode.plan.pointer


def test_a_replay_that_dies_early_counts_its_furthest_point_and_opens_a_slot():
    search, best, episode = replayed()
    drive(search, episode, [*best.rewards[:50].tolist(), -500.0])
    search.end(episode, cut=False)
    assert best.returns[1] == pytest.approx(float(best.rewards[:50].sum()), rel=1e-5)
    assert best.ends == [51] and (best.slots[0].first, best.slots[0].last) == (27, 51)


def test_a_replay_plays_the_variants_that_it_drew_and_they_are_judged(monkeypatch):
    search, best, _ = replayed()
    search.config = replaced(search.config, timesteps=1000)
    best.slots.append(Slot(0, 24, [Variant(), Variant({5: MOVES.wait})]))
    told = []
    monkeypatch.setattr("jerk.slots.choose", lambda *_, done, **__: told.append(done) or [1])
    episode = search.begin(LEVEL, env_steps=250)
    assert told == [0.25] and episode.plan.actions[5] == MOVES.wait
    drive(search, episode, best.rewards.tolist())
    search.end(episode, cut=False)
    assert [(one.passes, one.failures) for one in best.slots[0].variants] == [(0, 0), (1, 0)]


def test_a_saved_episode_that_recovers_goes_on_alike():
    search, _, episode = replayed(3)
    drive(search, episode, [5.0] * 45)
    again = search_of(CONFIG)
    again.sequences.restore(search.sequences.save())
    again.rng.bit_generator.state = search.rng.bit_generator.state
    copy = SearchEpisode.restore(episode.save(), again.sequences)
    assert copy.plan.source is again.sequences.best(LEVEL) and copy.save() == episode.save()
    one, other = (drive(*pair, [7.0] * 80) for pair in ((search, episode), (again, copy)))
    assert one == other


def test_a_mutant_expects_what_its_source_had_gained_as_far_as_it_is_the_sources():
    search, best, _ = replayed()
    changed = {"excise": True, "redraw": 0.2, "exploit_bias": 0.0, "exploit_growth": 0.0}
    search.config = replaced(CONFIG, **changed)
    plans = [search.begin(LEVEL, env_steps=0).plan for _ in range(20)]
    assert any(0 < plan.intact < len(plan.actions) for plan in plans)
    for plan in plans:
        assert plan.expected.tolist() == best.gained[: plan.intact].tolist()


def test_a_mutant_begins_with_the_likeliest_variants():
    search, best, _ = replayed()
    search.config = replaced(CONFIG, exploit_bias=0.0, exploit_growth=0.0)
    best.slots.append(Slot(0, 24, [Variant({}, 0, 9), Variant({5: MOVES.wait}, 9, 0)]))
    episodes = [search.begin(LEVEL, env_steps=0) for _ in range(20)]
    assert {episode.kind for episode in episodes} == {"mutant"}
    plans = [episode.plan.actions for episode in episodes]
    assert {int(plan[5]) for plan in plans if len(plan) > 5} == {MOVES.wait}
