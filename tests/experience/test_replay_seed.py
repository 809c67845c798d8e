"""Replays that go on from another one, or from recorded episodes."""

from copy import deepcopy
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest

from ppo2.config import PPO2Config
from retro_agents.experience.episodes import Episode
from retro_agents.experience.replay import SLOT_FIELDS, Replay
from retro_agents.experience.replay_seed import as_replay, check_seen_alike, seed
from retro_agents.ground.arrays import whole
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import check_alike
from retro_agents.run.config import flat, from_dict, replaced, to_dict
from tests.experience.slow_record import (
    GAMMA,
    N_STEP,
    STACK,
    drawable,
    make_replay,
    numbers_of,
    played,
)


@pytest.mark.parametrize("steps", [20, 130])
def test_restored_replay_draws_and_goes_on_alike(steps):
    replay = make_replay(80, 2)
    world = played(replay, steps, [6, 3])
    twin = deepcopy(world)
    replay.update_priorities(drawable(replay)[:5], np.arange(5.0))
    copy = make_replay(80, 2)
    copy.restore({name: whole(replay.arrays(), name).copy() for name in replay.arrays()})
    for _ in range(30):
        for memory in (replay, copy):
            memory.last = memory.sample(8, beta=0.4, rng=np.random.default_rng(3))
        for name in ("obs", "actions", "returns", "next_obs", "discounts", "weights", "indices"):
            np.testing.assert_array_equal(getattr(copy.last, name), getattr(replay.last, name))
        world.step(replay)
        twin.step(copy)


@pytest.mark.parametrize(("alpha", "prioritised"), [(1.0, True), (0.0, True), (0.5, False)])
@pytest.mark.parametrize("take", [Replay.restore, partial(seed, count=160)])
def test_priorities_are_taken_over_with_ones_own_exponent(take, alpha, prioritised):
    before, replay = make_replay(80, 2), make_replay(80, 2)
    played(before, 20, [6, 3])
    before.update_priorities(drawable(before)[:5], np.arange(5.0))
    replay.alpha, replay.prioritised = alpha, prioritised
    take(replay, before.arrays(), alpha=before.alpha)
    old, new = (memory.tree.leaves[drawable(memory)] for memory in (before, replay))
    power = alpha / before.alpha if prioritised else 0.0
    assert np.isin(new.round(9), (old**power).round(9)).all() and len(new) > 20
    assert replay.max_priority == pytest.approx(before.max_priority**power)


def test_a_checkpoint_takes_no_second_replay_and_a_full_ring_begins_at_its_start():
    replay = make_replay(80, 2)
    played(replay, 20, [6, 3])
    saved = replay.arrays()
    for name in SLOT_FIELDS:
        assert all(np.shares_memory(part, getattr(replay, name)) for part in saved[name])
        assert sum(map(len, saved[name])) == replay.size < 80
    replay, smaller = make_replay(80, 1), make_replay(20, 1)
    world = played(replay, 20, [1000])
    smaller.restore(replay.arrays())
    world.step(smaller)
    assert smaller.heads.tolist() == [1] and smaller.size == 20


@pytest.mark.parametrize(("steps", "count"), [(20, 1000), (130, 1000), (130, 60)])
@pytest.mark.parametrize("target_envs", [1, 2])
def test_seeded_replay_holds_only_true_transitions(steps, count, target_envs):
    replay = make_replay(120, 3)
    world = played(replay, steps, [6, 3, 11])
    seeded = make_replay(400, target_envs)
    taken = seed(seeded, replay.arrays(), count)
    indices = drawable(seeded)
    assert 0 < len(indices) <= taken <= count
    batch = seeded.gather(indices, np.ones(len(indices), np.float32))
    expected = world.expected()
    for row in range(len(indices)):
        obs, following = numbers_of(batch.obs[row]), numbers_of(batch.next_obs[row])
        if obs[-1] not in expected or following != expected[obs[-1]][3]:
            # Cut where the source ended: a shorter return, bootstrapped from the newest frame.
            env, slot = divmod(indices[row], seeded.slots)
            ring = seeded.ends.reshape(target_envs, seeded.slots)[env]
            assert ring[(slot + np.arange(N_STEP)) % seeded.slots].max() >= 2
            continue
        want_obs, action, total, _, discount = expected[obs[-1]]
        assert (obs, batch.actions[row]) == (want_obs, action)
        assert batch.returns[row] == pytest.approx(total, abs=1e-5)
        assert batch.discounts[row] == pytest.approx(discount, abs=1e-6)


def test_what_was_cut_stays_so_where_a_seeded_replay_seeds_another():
    replay = make_replay(80, 2)
    world = played(replay, 130, [1000])
    (one,), (other,) = world.episodes
    stacks = {step.obs[-1]: step.obs for step in one + other}
    for _ in range(2):
        source, replay = replay, make_replay(200, 1)
        assert seed(replay, source.arrays(), 200) == 80
        indices = drawable(replay)
        assert len(indices) == 80 - 2 * STACK  # of each ring the first stacks, and the last frame
        for images in replay.gather(indices, np.ones(len(indices), np.float32)).obs:
            obs = numbers_of(images)
            assert obs == stacks[obs[-1]]


@pytest.mark.parametrize(("source_envs", "target_envs"), [(1, 8), (3, 4), (8, 3)])
def test_rings_are_filled_alike_however_many_there_were(source_envs, target_envs):
    replay = make_replay(960, source_envs)
    played(replay, 960 // source_envs, [11], ["truncated"])
    seeded = make_replay(960, target_envs)
    taken = seed(seeded, replay.arrays(), 720)
    assert 720 - 4 * max(source_envs, target_envs) <= taken <= 720
    assert seeded.filled.min() > 0.4 * 720 / target_envs


def test_a_smaller_replay_takes_of_all_rings_alike():
    replay = make_replay(960, 8)
    world = played(replay, 120, [11], ["truncated"])
    seeded = make_replay(480, 2)
    assert seed(seeded, replay.arrays(), 100_000) == 480
    batch = seeded.gather(indices := drawable(seeded), np.ones(len(indices), np.float32))
    seen = {numbers_of(obs)[-1] for obs in batch.obs}
    taken = [sum(step.obs[-1] in seen for one in env for step in one) for env in world.episodes]
    assert min(taken) > 40 and max(taken) <= 60


def recorded(steps, *, start, terminated, rewards, frames=True):
    """Its frames are told apart by their brightness, and its actions by the step."""
    numbers = np.arange(start, start + steps + 1, dtype=np.uint8)[:, None, None, None]
    return Episode(
        "level",
        np.arange(steps, dtype=np.uint8) % 7,
        np.array(rewards, float),
        terminated,
        ("A",),
        4,
        np.broadcast_to(numbers, (steps + 1, 1, 2, 2)).copy() if frames else None,
    )


def test_recorded_episodes_are_drawn_as_if_they_had_been_played_here():
    episodes = [
        recorded(4, start=100, terminated=False, rewards=[0, 0, 0, 3]),
        recorded(6, start=0, terminated=False, rewards=[0, 0, 0, 0, 0, 5]),
        recorded(9, start=50, terminated=True, rewards=[0] * 8 + [10]),
    ]
    replay = make_replay(100, 1)
    assert seed(replay, as_replay(episodes, lambda raw: 0.5 * raw), 100) == 5 + 7 + 10
    drawn = drawable(replay)
    batch = replay.gather(drawn, np.ones(len(drawn), np.float32))
    steps = {}
    for row in range(len(drawn)):
        obs, following = (b[row, :, 0, 0].tolist() for b in (batch.obs, batch.next_obs))
        facts = (int(batch.actions[row]), float(batch.returns[row]), float(batch.discounts[row]))
        steps[obs[-1]] = (obs, following[-1], *map(pytest.approx, facts))
    assert steps[56] == ([54, 55, 56], 59, 6, 0.5 * GAMMA**2 * 10, 0.0)
    assert steps[58] == ([56, 57, 58], 59, 1, 0.5 * 10, 0.0)
    assert steps[4] == ([2, 3, 4], 6, 4, 0.5 * GAMMA * 5, GAMMA**2)  # a cut episode: bootstrapped
    assert set(steps) == {*range(50, 59), *range(6), 102, 103}  # older stacks may reach back


def test_the_last_recorded_episodes_are_taken_with_the_rewards_that_are_learned_from():
    rewards = [[2.0, -1.0, 0.5, 2.0], [1.0, 1.0, -3.0, 4.0]]
    episodes = [recorded(4, start=0, terminated=True, rewards=r) for r in rewards]
    replay = make_replay(100, 1)
    seed(replay, as_replay(episodes, np.cumsum), 100)
    assert replay.rewards[:10].tolist() == [2, 1, 1.5, 3.5, 0, 1, 2, -1, 3, 0]
    episodes = [
        recorded(6, start=start, terminated=True, rewards=[1] * 6) for start in (0, 50, 100)
    ]
    replay = make_replay(100, 1)
    assert seed(replay, as_replay(episodes, lambda raw: raw), 10) == 10
    assert set(replay.frames[:10, 0, 0, 0].tolist()) == {*range(54, 57), *range(100, 107)}
    blind = recorded(6, start=0, terminated=True, rewards=[1] * 6, frames=False)
    with pytest.raises(ValueError, match="without frames"):
        as_replay([blind], lambda raw: raw)


@pytest.mark.parametrize(("steps", "goes"), [(20, True), (130, False)])
def test_a_larger_ring_takes_over_one_that_was_never_full(steps, goes):
    """Behind the head of a full one lie its oldest slots: in a larger ring, nothing."""
    replay = make_replay(80, 2)
    played(replay, steps, [6, 3])
    larger = make_replay(200, 2)
    if goes:
        larger.restore(replay.arrays())
        assert larger.size == replay.size
    else:
        with pytest.raises(ValueError, match="other rings"):
            larger.restore(replay.arrays())


PAIRS = {"levels": "procgen:coinrun", "frames": "0,-3"}


@pytest.mark.parametrize(
    ("made", "changes", "flag"),
    [
        ({}, {"frame_stack": 2}, "--frame-stack 4"),
        (PAIRS, {"frames": "0,-7"}, "--frames 0,-3"),
        (PAIRS, {"frames": "0"}, "--frames 0,-3"),
    ],
)
def test_other_pictures_than_those_that_were_seen_are_refused(made, changes, flag):
    config = from_dict(PPO2Config, made)
    saved, other = Mock(config_as=lambda _: config), replaced(config, **changes)
    saved.config, saved.setting = to_dict(config), flat(to_dict(config)).get
    check_seen_alike(saved, config)
    check_alike(config.env, config.env, source="there")
    with pytest.raises(UserError, match=f"resume it with {flag}$"):
        check_seen_alike(saved, other)
    with pytest.raises(UserError, match=f"give {flag}"):
        check_alike(config.env, other.env, source="there")
