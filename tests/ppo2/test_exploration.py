import numpy as np
import pytest
import torch

from experiment.distributed import Group
from experiment.errors import UserError
from ppo2.exploration import Distillation, Novelty, features_net

CPU = torch.device("cpu")


class Half(Group):
    """One of two processes, whose other one's values are given beforehand."""

    def __init__(self, rank, others):
        super().__init__()
        self.rank, self.size, self.others = rank, 2, others

    def gather(self, value):
        return [value, self.others] if self.rank == 0 else [self.others, value]


def steps_of(levels, progress, colours, goes_on):
    """Arguments of Novelty.new from nested lists [T][N]."""
    frames = np.array(colours, np.uint8)[..., None, None, None] + np.zeros((2, 2, 1), np.uint8)
    return torch.from_numpy(frames), {
        "levels": np.array(levels),
        "progress": np.array(progress, np.float32),
        "goes_on": np.array(goes_on, bool),
    }


CASE = steps_of(
    levels=[[1, 1], [1, 2], [1, 1], [1, 1]],
    progress=[[0, 50], [120, 0], [130, 250], [-10, 0]],
    colours=[[8, 8], [8, 8], [200, 8], [8, 8]],
    goes_on=[[True, True], [True, True], [True, False], [True, True]],
)
# One after the other: new; the same bucket of progress; other progress; other level; other
# colours; the end of an episode; going back; known.
NEW = [[True, False], [True, True], [True, False], [True, False]]


def test_each_pair_of_progress_and_colour_sum_is_new_once_per_level():
    frames, rest = CASE
    novelty = Novelty(progress=100.0, colours=32)
    assert novelty.new(frames, **rest, group=Group()).tolist() == NEW
    assert not novelty.new(frames, **rest, group=Group()).any()


def test_keys_met_are_known_after_a_restart():
    frames, rest = CASE
    first, second = (Novelty(progress=100.0, colours=32) for _ in range(2))
    first.new(frames, **rest, group=Group())
    second.restore(first.array())
    assert second.seen == first.seen and len(first.seen) == 5
    assert not second.new(frames, **rest, group=Group()).any()


def test_a_key_is_new_to_one_of_two_processes_only():
    frames, rest = CASE
    halves = [
        (frames[:, part], {name: value[:, part] for name, value in rest.items()})
        for part in (slice(0, 1), slice(1, 2))
    ]
    keys = []

    class Recorder(Group):
        def gather(self, value):
            keys.append(value)
            return [value]

    for images, other in halves:
        Novelty(progress=100.0, colours=32).new(images, **other, group=Recorder())
    for rank, (images, other) in enumerate(halves):
        found = Novelty(progress=100.0, colours=32).new(
            images, **other, group=Half(rank, keys[1 - rank])
        )
        assert found[:, 0].tolist() == [row[rank] for row in NEW]


def make(seed=0):
    torch.manual_seed(seed)
    return Distillation((36, 36, 1), 2, gamma=0.9, learning_rate=1e-3, device=CPU, group=Group())


def images(seed, steps=32):
    """Frames of the seed's pattern, with a little noise."""
    rng = np.random.default_rng(seed)
    pattern = rng.integers(256, size=(36, 36, 1))
    noise = rng.integers(-3, 4, size=(steps, 2, 36, 36, 1))
    return torch.from_numpy((pattern + noise).clip(0, 255).astype(np.uint8))


def test_what_was_often_seen_is_predicted_better_than_the_new():
    distillation = make()
    rngs = [np.random.default_rng(i) for i in range(2)]
    both = torch.cat([images(1), images(2)])
    distillation.look_at(both.flatten(0, 1))
    for _ in range(30):
        distillation.learn(images(1), rngs, count=2)
    with torch.no_grad():
        known, new = (distillation.errors(images(s).flatten(0, 1)).mean() for s in (1, 2))
    assert new > 3 * known


def test_bonus_is_the_error_over_the_deviation_of_its_discounted_sum():
    distillation, frames = make(), images(1)
    bonus = distillation.bonus(frames)
    with torch.no_grad():
        errors = distillation.errors(frames.flatten(0, 1)).view(32, 2).numpy()
    sums, total = [], np.zeros(2)
    for row in errors:
        total = 0.9 * total + row
        sums.append(total)
    np.testing.assert_allclose(bonus, errors / np.std(sums), rtol=1e-4)


def test_pixels_are_normalised_by_their_own_moments():
    distillation = make()
    frames = torch.cat([images(1), images(2)])
    for part in frames.split(16):
        distillation.look_at(part.flatten(0, 1))
    count, total, squares = distillation.moments
    flat = frames.flatten(0, 1).double()
    assert count.unique().tolist() == [len(flat)]
    torch.testing.assert_close(total / count, flat.mean(dim=0))
    torch.testing.assert_close(squares / count - (total / count) ** 2, flat.var(0, correction=0))


def test_images_too_small_for_distillation_are_refused_in_one_line():
    assert features_net((36, 20, 1), deep=True)[-1].out_features == 128
    with pytest.raises(UserError, match="images of 36x16 pixels are too small for random network"):
        features_net((36, 16, 1), deep=False)


def test_restored_distillation_goes_on_alike():
    first, second = make(), make(seed=1)
    first.bonus(images(1))
    first.learn(images(1), [np.random.default_rng(i) for i in range(2)], count=2)
    tensors = {name: value.clone() for name, value in first.tensors().items()}
    second.restore(tensors, first.state(), sums=first.scale.sums.tolist())
    for distillation in (first, second):
        distillation.learn(images(2), [np.random.default_rng(i) for i in (7, 8)], count=2)
    np.testing.assert_array_equal(first.bonus(images(2)), second.bonus(images(2)))
