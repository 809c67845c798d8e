"""The replay against a slow record of everything that happened."""

from dataclasses import dataclass

import numpy as np
import pytest

from experience.episodes import Episode
from experiment.arrays import whole
from rainbow.memory import FINAL, SLOT_FIELDS, Replay, SumTree

STACK, N_STEP, GAMMA = 3, 3, 0.9


def frame(number: int) -> np.ndarray:
    """A 1×2×2 image that says which frame it is."""
    return np.frombuffer(np.uint32(number).tobytes(), np.uint8).reshape(1, 2, 2)


def number_of(image: np.ndarray) -> int:
    return int(np.frombuffer(image.tobytes(), np.uint32)[0])


@dataclass
class Step:
    obs: list[int]
    action: int
    reward: float
    end: str


class World:
    """Scripted environments that keep the whole past, written for clearness only."""

    def __init__(self, num_envs: int, lengths: list[int], ends: list[str], seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.count = 1
        self.lengths, self.ends = lengths, ends
        self.episodes: list[list[list[Step]]] = [[[]] for _ in range(num_envs)]
        self.finals: dict[int, list[int]] = {}  # newest frame of an episode's last obs -> final obs
        self.obs = [self.fresh() for _ in range(num_envs)]

    def fresh(self) -> list[int]:
        self.count += 1
        return [self.count] * STACK

    def following(self, obs: list[int]) -> list[int]:
        self.count += 1
        return [*obs[1:], self.count]

    def images(self, rows: list[list[int]]) -> np.ndarray:
        return np.stack([np.concatenate([frame(f) for f in row]) for row in rows])

    def step(self, replay: Replay) -> None:
        envs = range(len(self.obs))
        actions = self.rng.integers(7, size=len(self.obs))
        rewards = self.rng.normal(size=len(self.obs)).astype(np.float32)
        reached = [self.following(obs) for obs in self.obs]
        before, flags = list(self.obs), []
        for e in envs:
            episode = self.episodes[e][-1]
            turn = len(self.episodes[e]) + e
            over = len(episode) + 1 == self.lengths[turn % len(self.lengths)]
            end = self.ends[turn % len(self.ends)] if over else ""
            episode.append(Step(before[e], int(actions[e]), float(rewards[e]), end))
            flags.append(end)
            if over:
                self.finals[before[e][-1]] = reached[e]
                self.episodes[e].append([])
            self.obs[e] = self.fresh() if over else reached[e]
        replay.add(
            self.images(before),
            actions,
            rewards,
            np.array([f == "terminated" for f in flags]),
            np.array([f == "truncated" for f in flags]),
            self.images(reached),
        )

    def expected(self) -> dict[int, tuple]:
        """Newest frame of obs -> (obs, action, return, next_obs, discount), if it is complete."""
        table = {}
        for e, episodes in enumerate(self.episodes):
            for episode in episodes:
                for t, step in enumerate(episode):
                    total, k = 0.0, 0
                    while k < N_STEP and t + k < len(episode):
                        total += GAMMA**k * episode[t + k].reward
                        k += 1
                        if episode[t + k - 1].end:
                            break
                    last = episode[t + k - 1]
                    if last.end:
                        following = self.finals[last.obs[-1]]
                    elif t + k < len(episode):
                        following = episode[t + k].obs
                    elif k == N_STEP and episode is episodes[-1]:
                        following = self.obs[e]
                    else:
                        continue
                    discount = 0.0 if last.end == "terminated" else GAMMA**k
                    table[step.obs[-1]] = (step.obs, step.action, total, following, discount)
        return table


def make_replay(capacity: int, num_envs: int, **options) -> Replay:
    return Replay(
        capacity,
        num_envs,
        frame_shape=(1, 2, 2),
        frame_stack=STACK,
        n_step=N_STEP,
        gamma=GAMMA,
        alpha=0.5,
        **options,
    )


def drawable(replay: Replay) -> np.ndarray:
    return np.flatnonzero(replay.tree.leaves)


def assert_all_drawable_are_right(replay: Replay, world: World) -> set[int]:
    """Check each transition that could be drawn; return the newest frames of their observations."""
    indices = drawable(replay)
    batch = replay.gather(indices, np.ones(len(indices), np.float32))
    expected = world.expected()
    seen = set()
    for row in range(len(indices)):
        obs = [number_of(f) for f in batch.obs[row].reshape(STACK, 1, 2, 2)]
        want_obs, action, total, following, discount = expected[obs[-1]]
        assert obs == want_obs
        assert batch.actions[row] == action
        assert batch.returns[row] == pytest.approx(total, abs=1e-5)
        assert batch.discounts[row] == pytest.approx(discount, abs=1e-6)
        assert [number_of(f) for f in batch.next_obs[row].reshape(STACK, 1, 2, 2)] == following
        seen.add(obs[-1])
    return seen


@pytest.mark.parametrize("lengths", [[1, 2, 5], [7], [3, 1, 1, 9], [10_000]])
@pytest.mark.parametrize("num_envs", [1, 3])
def test_every_drawable_transition_matches_the_slow_record(num_envs, lengths):
    replay = make_replay(40 * num_envs, num_envs)
    world = World(num_envs, lengths, ["terminated", "truncated"])
    for step in range(130):  # round each ring three times
        world.step(replay)
        if step % 7 == 0:
            assert_all_drawable_are_right(replay, world)


def test_before_wraparound_exactly_the_complete_transitions_are_drawable():
    replay = make_replay(400, 2)
    world = World(2, [1, 2, 5, 8], ["terminated", "truncated"])
    for _ in range(60):
        world.step(replay)
        # The step whose next observation is the current one waits for that frame to be stored.
        complete = {f for f, row in world.expected().items() if row[3] not in world.obs}
        assert assert_all_drawable_are_right(replay, world) == complete


def test_last_steps_of_an_episode_stay_drawable():
    replay = make_replay(100, 1)
    world = World(1, [6], ["terminated"])
    for _ in range(6):
        world.step(replay)
    assert len(drawable(replay)) == 6


def test_newest_steps_wait_until_their_returns_are_complete():
    replay = make_replay(100, 1)
    world = World(1, [50], ["terminated"])
    for step in range(1, 20):
        world.step(replay)
        assert len(drawable(replay)) == max(0, step - N_STEP)


def test_final_observations_are_never_drawn():
    replay = make_replay(60, 1)
    world = World(1, [4], ["truncated"])
    for _ in range(200):
        world.step(replay)
    assert (replay.tree.leaves[replay.ends == FINAL] == 0.0).all()


def test_stacks_that_cross_the_write_head_are_not_drawn():
    replay = make_replay(30, 1)
    world = World(1, [10_000], ["terminated"])
    for _ in range(75):
        world.step(replay)
    behind = (replay.heads[0] + np.arange(STACK - 1)) % 30
    assert (replay.tree.leaves[behind] == 0.0).all()
    assert len(drawable(replay)) == 30 - N_STEP - (STACK - 1)


def test_draw_is_stratified_and_weights_follow_the_formula():
    replay = make_replay(200, 1)
    world = World(1, [9], ["terminated"])
    for _ in range(150):
        world.step(replay)
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


def test_draws_follow_the_priorities():
    replay = make_replay(64, 1)
    world = World(1, [1000], ["terminated"])
    for _ in range(20):
        world.step(replay)
    indices = drawable(replay)
    replay.update_priorities(indices, np.arange(len(indices), dtype=float) ** 2)
    rng = np.random.default_rng(0)
    drawn = np.concatenate([replay.sample(32, beta=0.4, rng=rng).indices for _ in range(2000)])
    shares = np.bincount(drawn, minlength=64)[indices] / len(drawn)
    wanted = replay.tree.leaves[indices] / replay.tree.total
    np.testing.assert_allclose(shares, wanted, atol=0.004)


def test_new_transitions_get_the_largest_priority_seen():
    replay = make_replay(100, 1)
    world = World(1, [1000], ["terminated"])
    for _ in range(10):
        world.step(replay)
    replay.update_priorities(drawable(replay)[:2], np.array([24.9, 3.0]))
    replay.update_priorities(drawable(replay)[:2], np.array([0.1, 0.1]))
    world.step(replay)
    assert replay.tree.leaves[replay.heads[0] - 1 - N_STEP] == pytest.approx(5.0)


def test_without_priorities_draws_are_uniform():
    replay = make_replay(100, 1, prioritised=False)
    world = World(1, [1000], ["terminated"])
    for _ in range(10):
        world.step(replay)
    replay.update_priorities(drawable(replay)[:2], np.array([24.9, 3.0]))
    assert set(replay.tree.leaves[drawable(replay)]) == {1.0}


def test_empty_replay_refuses_to_draw():
    with pytest.raises(ValueError, match="no transition"):
        make_replay(100, 1).sample(4, beta=0.4, rng=np.random.default_rng(0))


@pytest.mark.parametrize("steps", [20, 130])
def test_restored_replay_draws_and_goes_on_alike(steps):
    replay = make_replay(80, 2)
    world = World(2, [6, 3], ["terminated", "truncated"])
    for _ in range(steps):
        world.step(replay)
    replay.update_priorities(drawable(replay)[:5], np.arange(5.0))
    copy = make_replay(80, 2)
    copy.restore({name: whole(replay.arrays(), name).copy() for name in replay.arrays()})
    for _ in range(30):
        for memory in (replay, copy):
            memory.last = memory.sample(8, beta=0.4, rng=np.random.default_rng(3))
        for name in ("obs", "actions", "returns", "next_obs", "discounts", "weights", "indices"):
            np.testing.assert_array_equal(getattr(copy.last, name), getattr(replay.last, name))
        rng, count, obs = world.rng.bit_generator.state, world.count, list(world.obs)
        episodes = [[list(e) for e in env] for env in world.episodes]
        world.step(replay)
        world.rng.bit_generator.state, world.count, world.obs = rng, count, obs
        world.episodes = episodes
        world.step(copy)


def test_a_checkpoint_takes_no_second_replay():
    replay = make_replay(80, 2)
    world = World(2, [6, 3], ["terminated", "truncated"])
    for _ in range(20):
        world.step(replay)
    saved = replay.arrays()
    for name in SLOT_FIELDS:
        assert all(np.shares_memory(part, getattr(replay, name)) for part in saved[name])
        assert sum(map(len, saved[name])) == replay.size < 80


def test_a_smaller_ring_that_is_just_full_begins_at_its_start():
    replay, smaller = make_replay(80, 1), make_replay(20, 1)
    world = World(1, [1000], ["terminated"])
    for _ in range(20):
        world.step(replay)
    smaller.restore(replay.arrays())
    world.step(smaller)
    assert smaller.heads.tolist() == [1] and smaller.size == 20


@pytest.mark.parametrize(("steps", "count"), [(20, 1000), (130, 1000), (130, 60)])
@pytest.mark.parametrize("target_envs", [1, 2])
def test_seeded_replay_holds_only_true_transitions(steps, count, target_envs):
    replay = make_replay(120, 3)
    world = World(3, [6, 3, 11], ["terminated", "truncated"])
    for _ in range(steps):
        world.step(replay)
    seeded = make_replay(400, target_envs)
    taken = seeded.seed(replay.arrays(), count)
    indices = drawable(seeded)
    assert 0 < len(indices) <= taken <= count
    batch = seeded.gather(indices, np.ones(len(indices), np.float32))
    expected = world.expected()
    for row in range(len(indices)):
        obs = [number_of(f) for f in batch.obs[row].reshape(STACK, 1, 2, 2)]
        following = [number_of(f) for f in batch.next_obs[row].reshape(STACK, 1, 2, 2)]
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
    assert replay.seed_episodes(episodes, 100, lambda raw: 0.5 * raw) == 5 + 7 + 10
    drawn = drawable(replay)
    batch = replay.gather(drawn, np.ones(len(drawn), np.float32))
    steps = {}
    for row in range(len(drawn)):
        obs, following = (b[row, :, 0, 0].tolist() for b in (batch.obs, batch.next_obs))
        facts = (int(batch.actions[row]), float(batch.returns[row]), float(batch.discounts[row]))
        steps[obs[-1]] = (obs, following[-1], *map(pytest.approx, facts))
    assert steps[56] == ([54, 55, 56], 59, 6, 0.5 * GAMMA**2 * 10, 0.0)
    assert steps[58] == ([56, 57, 58], 59, 1, 0.5 * 10, 0.0)
    assert steps[4] == ([2, 3, 4], 6, 4, 0.5 * GAMMA * 5, GAMMA**2)  # cut: it goes on counting
    assert set(steps) == {*range(50, 59), *range(6), 102, 103}  # older stacks may reach back


def test_rewards_of_recorded_episodes_become_those_that_are_learned_from():
    rewards = [[2.0, -1.0, 0.5, 2.0], [1.0, 1.0, -3.0, 4.0]]
    episodes = [recorded(4, start=0, terminated=True, rewards=r) for r in rewards]
    replay = make_replay(100, 1)
    replay.seed_episodes(episodes, 100, np.cumsum)
    assert replay.rewards[:10].tolist() == [2, 1, 1.5, 3.5, 0, 1, 2, -1, 3, 0]


def test_the_last_of_recorded_episodes_are_taken_where_not_all_are():
    episodes = [
        recorded(6, start=start, terminated=True, rewards=[1] * 6) for start in (0, 50, 100)
    ]
    replay = make_replay(100, 1)
    assert replay.seed_episodes(episodes, 10, lambda raw: raw) == 10
    assert set(replay.frames[:10, 0, 0, 0].tolist()) == {*range(54, 57), *range(100, 107)}


def test_episodes_that_show_nothing_are_no_transitions():
    blind = recorded(6, start=0, terminated=True, rewards=[1] * 6, frames=False)
    with pytest.raises(ValueError, match="without frames"):
        make_replay(100, 1).seed_episodes([blind], 100, lambda raw: raw)


def test_memory_per_transition_is_little_more_than_its_frame():
    replay = Replay(
        50_000, 8, frame_shape=(1, 84, 84), frame_stack=4, n_step=3, gamma=0.99, alpha=0.5
    )
    arrays = [replay.frames, replay.actions, replay.rewards, replay.ends, replay.ages]
    size = sum(a.nbytes for a in arrays) + sum(level.nbytes for level in replay.tree.levels)
    assert size / 50_000 <= 7_300


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1024, 5000])
def test_sum_tree_finds_what_a_running_sum_finds(size):
    rng = np.random.default_rng(size)
    tree, leaves = SumTree(size), np.zeros(size)
    for _ in range(20):
        indices = rng.integers(size, size=12)
        values = rng.random(12) * (rng.random(12) < 0.7)
        for index, value in zip(indices, values, strict=True):  # later duplicates win
            leaves[index] = value
        tree.set(indices, leaves[indices])
        np.testing.assert_array_equal(tree.leaves, leaves)
        assert tree.total == pytest.approx(leaves.sum())
        if leaves.sum() == 0.0:
            continue
        masses = rng.random(50) * leaves.sum()
        found = tree.find(masses)
        wanted = np.searchsorted(np.cumsum(leaves), masses, side="right")
        assert (leaves[found] > 0.0).all()
        assert (found == wanted).mean() > 0.95  # rounding may move a mass over an edge
        assert np.abs(np.cumsum(leaves)[found] - masses).max() <= leaves.max() + 1e-9


def test_sum_tree_never_finds_an_empty_leaf_at_the_edges():
    tree = SumTree(100)
    tree.set(np.array([3, 40]), np.array([1.0, 2.0]))
    masses = np.array([0.0, 1.0, np.nextafter(1.0, 0.0), 3.0, 4.0])
    assert tree.find(masses).tolist() == [3, 40, 3, 40, 40]


@pytest.mark.parametrize(("steps", "goes"), [(20, True), (130, False)])
def test_a_larger_ring_takes_over_one_that_was_never_full(steps, goes):
    """Behind the head of a full one lie its oldest slots: in a larger ring, nothing."""
    replay = make_replay(80, 2)
    world = World(2, [6, 3], ["terminated", "truncated"])
    for _ in range(steps):
        world.step(replay)
    larger = make_replay(200, 2)
    if goes:
        larger.restore(replay.arrays())
        assert larger.size == replay.size
    else:
        with pytest.raises(ValueError, match="other rings"):
            larger.restore(replay.arrays())


@pytest.mark.parametrize("way", ["seed", "restore"])
def test_without_priorities_those_of_another_replay_do_not_count(way):
    replay = make_replay(80, 1)
    world = World(1, [6], ["terminated"])
    for _ in range(20):
        world.step(replay)
    replay.update_priorities(drawable(replay)[:3], np.array([24.9, 3.0, 0.1]))
    plain = make_replay(80, 1, prioritised=False)
    if way == "seed":
        plain.seed(replay.arrays(), 80)
    else:
        plain.restore(replay.arrays())
    world.step(plain)
    assert len(drawable(plain)) > 5 and set(plain.tree.leaves[drawable(plain)]) == {1.0}
