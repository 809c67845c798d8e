"""The replay against a slow record of everything that happened."""

import numpy as np
import pytest

from retro_agents.experience.replay import Replay
from tests.experience.slow_record import (
    N_STEP,
    STACK,
    World,
    assert_all_drawable_are_right,
    drawable,
    make_replay,
    played,
)


@pytest.mark.parametrize("lengths", [[1, 2, 5], [7], [3, 1, 1, 9], [10_000]])
@pytest.mark.parametrize("num_envs", [1, 3])
def test_every_drawable_transition_matches_the_slow_record(num_envs, lengths):
    replay = make_replay(40 * num_envs, num_envs)
    world = World(num_envs, lengths)
    for step in range(130):  # round each ring three times
        world.step(replay)
        if step % 7 == 0:
            assert_all_drawable_are_right(replay, world)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_before_wraparound_exactly_the_complete_transitions_are_drawable(num_envs):
    replay = make_replay(200 * num_envs, num_envs)
    world = World(num_envs, [1, 2, 5, 8])
    for _ in range(60):
        before = set(drawable(replay))
        completed = world.step(replay)
        assert sorted(completed) == sorted(set(drawable(replay)) - before)
        # The step whose next observation is the current one waits for that frame to be stored.
        complete = {f for f, row in world.expected().items() if row[3] not in world.obs}
        assert assert_all_drawable_are_right(replay, world) == complete


def test_an_episode_that_is_cut_ends_at_its_newest_observation():
    replay = make_replay(40 * 3, 3)
    world = World(3, [1, 4, 7])
    rng = np.random.default_rng(0)
    for step in range(130):
        world.step(replay)
        if rng.random() < 0.4:
            world.cut(replay, [0, 2] if step % 2 else [1])
        found = assert_all_drawable_are_right(replay, world)
        if step < 15:  # before wraparound: all that is complete, and no more
            assert found == {f for f, row in world.expected().items() if row[3] not in world.obs}


def test_rows_that_come_apart_are_remembered_as_if_together():
    class Parts:
        def add(self, *arrays):
            ends = ((0, 1), (1, 3))
            return np.concatenate([apart.add(*(x[a:b] for x in arrays), first=a) for a, b in ends])

    together, apart = make_replay(120, 3), make_replay(120, 3)
    worlds = [World(3, [1, 4, 7]) for _ in range(2)]
    for _ in range(90):
        complete = [world.step(to) for world, to in zip(worlds, (together, Parts()), strict=True)]
        assert sorted(complete[0]) == sorted(complete[1])
    ours, theirs = together.arrays(), apart.arrays()
    for name, rows in ours.items():
        np.testing.assert_array_equal(
            np.concatenate([*map(np.atleast_1d, rows)]),
            np.concatenate([*map(np.atleast_1d, theirs[name])]),
            err_msg=name,
        )


def test_stacks_that_cross_the_write_head_are_not_drawn():
    replay = make_replay(30, 1)
    played(replay, 75, [10_000])
    behind = (replay.heads[0] + np.arange(STACK - 1)) % 30
    assert (replay.tree.leaves[behind] == 0.0).all()
    assert len(drawable(replay)) == 30 - N_STEP - (STACK - 1)


def test_draw_is_stratified_and_weights_follow_the_formula():
    replay = make_replay(200, 1)
    played(replay, 150, [9], ["terminated"])
    indices = drawable(replay)
    losses = np.linspace(0.0, 5.0, len(indices))
    replay.update_priorities(indices, losses)
    probabilities = np.zeros(len(replay.tree.leaves))
    probabilities[indices] = (losses + 0.1) ** 0.5
    probabilities /= probabilities.sum()
    batch = replay.sample(32, beta=0.4, rng=np.random.default_rng(1))
    edges = np.cumsum(probabilities)
    for row, index in enumerate(batch.indices):  # each share of the total gives one draw
        low = edges[index] - probabilities[index]
        assert low <= (row + 1) / 32 + 1e-9 and edges[index] >= row / 32 - 1e-9
    weights = (len(indices) * probabilities[batch.indices]) ** -0.4
    np.testing.assert_allclose(batch.weights, weights / weights.max(), rtol=1e-5)


def test_new_transitions_get_the_largest_priority_seen_or_all_the_same():
    replay = make_replay(100, 1)
    world = played(replay, 10, [1000])
    replay.update_priorities(drawable(replay)[:2], np.array([24.9, 3.0]))
    replay.update_priorities(drawable(replay)[:2], np.array([0.1, 0.1]))
    world.step(replay)
    assert replay.tree.leaves[replay.heads[0] - 1 - N_STEP] == pytest.approx(5.0)
    replay.update_priorities(drawable(replay)[:2], np.array([-0.2, 0.3]))  # rounding, exaggerated
    assert np.isfinite(replay.tree.total) and replay.max_priority == pytest.approx(5.0)
    assert (replay.tree.leaves[drawable(replay)] > 0.0).all()  # each can be drawn again
    replay = make_replay(100, 1, prioritised=False)
    played(replay, 10, [1000])
    replay.update_priorities(drawable(replay)[:2], np.array([24.9, 3.0]))
    assert set(replay.tree.leaves[drawable(replay)]) == {1.0}
    with pytest.raises(ValueError, match="no transition"):
        make_replay(100, 1).sample(4, beta=0.4, rng=np.random.default_rng(0))


def test_memory_per_transition_is_little_more_than_its_frame():
    replay = Replay(
        50_000, 8, frame_shape=(1, 84, 84), steps_back=(3, 2, 1, 0), n_step=3, gamma=0.99, alpha=0.5
    )
    arrays = [replay.frames, replay.actions, replay.rewards, replay.ends, replay.ages]
    size = sum(a.nbytes for a in arrays) + sum(level.nbytes for level in replay.tree.levels)
    assert size / 50_000 <= 7_300


def test_a_ring_must_hold_more_than_a_stack_and_its_steps():
    slots = STACK - 1 + N_STEP + 3  # the frames before an observation, and the steps behind it
    with pytest.raises(ValueError, match="too short"):
        make_replay(slots, 1)
    make_replay(slots + 1, 1)
