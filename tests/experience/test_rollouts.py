import numpy as np
import torch

from retro_agents.experience.rollouts import SAVED, Rollout, minibatches

CPU = torch.device("cpu")
IMAGE = (2, 3, 5)


def generators(count):
    return [np.random.default_rng(i) for i in range(count)]


def filled(steps=6, num_envs=3, fill=6, seed=0):
    """A rollout of chance, and what was put into it."""
    rng = np.random.default_rng(seed)
    rollout = Rollout(steps, num_envs, image=IMAGE, state_size=4, device=CPU)
    record = {"obs": [], "final": [], "rewards": [], "terminated": [], "truncated": []}
    for _ in range(fill):
        obs, final = rng.integers(256, size=(2, num_envs, *IMAGE), dtype=np.uint8)
        terminated, truncated = rng.random((2, num_envs)) < 0.3
        rewards = rng.normal(size=num_envs).astype(np.float32)
        state = torch.from_numpy(rng.normal(size=(num_envs, 4)).astype(np.float32))
        values = torch.from_numpy(rng.normal(size=num_envs).astype(np.float32))
        for part in (slice(0, 1), slice(1, num_envs)):  # the first is a step ahead of the rest
            numbers, value = torch.arange(num_envs)[part], values[part]
            images = torch.from_numpy(obs[part])
            rollout.add_actions(
                images, state[part], terminated[part], numbers, value - 1.0, value, part=part
            )
            rollout.add_outcomes(
                (rewards[part], terminated[part], truncated[part], {"final_obs": final}),
                progress=rewards[part] + 1.0,
                levels=numbers.numpy(),
                part=part,
            )
        for name, value in (("obs", obs), ("final", final), ("rewards", rewards)):
            record[name].append(value)
        record["terminated"].append(terminated)
        record["truncated"].append(truncated)
    return rollout, {name: np.array(values) for name, values in record.items()}


def test_every_row_is_dealt_out_once_in_balanced_minibatches_or_pieces():
    dealt = minibatches(generators(3), 12, count=4)
    assert sorted(np.concatenate(dealt, axis=1).flatten().tolist()) == list(range(36))
    for rows in dealt:
        assert np.bincount(rows.flatten() % 3).tolist() == [3, 3, 3]
    rngs = generators(3)
    first, second = minibatches(rngs, 12, count=4), minibatches(rngs, 12, count=4)
    assert not np.array_equal(first, second)
    for rows in minibatches(generators(2), 24, count=2, length=4):
        assert rows.shape == (4, 6)
        assert (np.diff(rows, axis=0) == 2).all()  # one step on, two environments
        assert (rows[0] // 2 % 4 == 0).all()


def test_minibatches_are_the_same_in_any_number_of_processes():
    together = minibatches(generators(4), 8, count=2)
    apart = [minibatches(generators(4)[part], 8, count=2) for part in (slice(2), slice(2, 4))]
    for number, rows in enumerate(together):
        steps, envs = np.divmod(rows.flatten(), 4)
        for process, own in enumerate(apart):
            mine = envs // 2 == process
            expected = steps[mine] * 2 + envs[mine] % 2
            assert sorted(own[number].flatten()) == sorted(expected)
    together = minibatches(generators(8), 6, count=4, length=6)
    assert sorted(np.concatenate(together, axis=1).flatten().tolist()) == list(range(48))
    for rows in together:
        assert rows.shape == (6, 2) and (np.diff(rows, axis=0) == 8).all()
        assert (rows[0] // 4).tolist() == [0, 1]  # one of each four neighbours
    for first in (0, 4):
        apart = minibatches(generators(8)[first : first + 4], 6, count=4, length=6)
        for rows, own in zip(together, apart, strict=True):
            assert rows[0, first // 4] - first == own[0, 0]


def test_rollout_gives_back_the_images_it_was_shown_and_returns():
    rollout, record = filled()
    assert rollout.full
    batch = rollout.batch(np.zeros((6, 3), np.float32))
    indices = torch.tensor([[4, 0, 17]])
    images = batch.minibatch(indices, batch.advantages[indices]).obs
    expected = record["obs"].reshape(18, *IMAGE)[[4, 0, 17]]
    np.testing.assert_array_equal(images.permute(0, 3, 1, 2), expected)
    assert images.is_contiguous()  # channels last, as the convolutions want them
    advantages = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    batch = rollout.batch(advantages)
    np.testing.assert_array_equal(batch.returns, (advantages + rollout.values.numpy()).flatten())


def test_last_observations_are_kept_of_episodes_that_were_cut_until_it_is_cleared():
    rollout, record = filled()
    cut = record["truncated"] & ~record["terminated"]
    assert list(rollout.finals) == [tuple(where) for where in np.argwhere(cut).tolist()]
    for where, image in rollout.finals.items():
        np.testing.assert_array_equal(image, record["final"][where])
    rollout.clear()
    assert rollout.filled == 0 and not rollout.finals and not rollout.full


def test_unfinished_rollout_comes_back_in_parts():
    rollout, _ = filled(fill=4)
    finals = [(t, n, image.tobytes()) for (t, n), image in rollout.finals.items()]
    part = Rollout(6, 2, image=IMAGE, state_size=4, device=CPU)
    part.restore(rollout.arrays(), finals, slice(1, 3))
    assert part.filled == 4
    for name in SAVED:
        np.testing.assert_array_equal(
            getattr(part, name)[:4], getattr(rollout, name)[:4, 1:3], err_msg=name
        )
    assert list(part.finals) == [(t, n - 1) for t, n in rollout.finals if n > 0]
    for (t, n), image in part.finals.items():
        np.testing.assert_array_equal(image, rollout.finals[t, n + 1])


def test_newest_frames_of_the_states_reached():
    rollout, record = filled()
    last = np.random.default_rng(3).integers(256, size=(3, *IMAGE), dtype=np.uint8)
    expected = np.concatenate([record["obs"][1:], last[None]])[:, :, -1:]  # [T,N,1,H,W]
    found = rollout.frames_reached(torch.from_numpy(last), 1).permute(0, 1, 4, 2, 3)
    np.testing.assert_array_equal(found, expected)
